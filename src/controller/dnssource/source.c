/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads external-dns's annotations, and the addresses of Services and Ingresses. */
#include "controller/dnssource/source.h"

#include <string.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/slice.h"
#include "base/text/duration.h"
#include "controller/dnssource/names.h"
#include "net/addr.h"

enum { WORDS_MAX = 100 }; /* of an annotation, hosts of an Ingress, targets of a source */

static void add_word(struct api_strings *list, struct arena *arena, const char *word)
{
	if (list->v == NULL)
		list->v = arena_alloc(arena, WORDS_MAX * sizeof(*list->v));
	for (size_t i = 0; i < list->n; i++) {
		if (strcmp(list->v[i], word) == 0)
			return;
	}
	if (list->n < WORDS_MAX)
		list->v[list->n++] = word;
}

/* ---- names ---- */

static void add_host(struct api_strings *list, struct arena *arena, struct slice text)
{
	text = slice_trim(text);
	if (slice_ends(text, SLICE(".")))
		text.n--;
	if (text.n == 0)
		return;
	char *host = arena_strndup(arena, text.p, text.n);
	for (char *at = host; *at != '\0'; at++)
		*at = ascii_lower(*at);
	add_word(list, arena, host);
}

static void read_hosts(struct dnssource_source *source, struct arena *arena)
{
	struct slice rest = slice_of(api_annotation(source->object, DNSSOURCE_HOSTNAME));
	while (rest.n != 0)
		add_host(&source->hosts, arena, slice_cut(&rest, ','));
}

static void read_rule_hosts(struct dnssource_source *source, struct arena *arena)
{
	json_t *entry, *host;
	size_t i, k;
	json_array_foreach (api_get(source->object, "spec.rules"), i, entry)
		add_host(&source->rule_hosts, arena,
			 api_text_slice(json_object_get(entry, "host")));
	json_array_foreach (api_get(source->object, "spec.tls"), i, entry) {
		json_array_foreach (json_object_get(entry, "hosts"), k, host)
			add_host(&source->rule_hosts, arena, api_text_slice(host));
	}
}

/* ---- targets ---- */

static void add_target(struct dnssource_source *source, struct arena *arena, struct slice text)
{
	union net_addr address;
	text = slice_trim(text);
	if (text.n == 0)
		return;
	const char *target = arena_strndup(arena, text.p, text.n);
	if (net_addr_parse_ip(text, &address) < 0)
		add_host(&source->names, arena, text);
	else
		add_word(address.family == AF_INET ? &source->ipv4 : &source->ipv6, arena, target);
}

/* Of an entry that has both, the address: an A record needs no second lookup. */
static void read_load_balancer(struct dnssource_source *source, struct arena *arena)
{
	json_t *entry;
	size_t i;
	json_array_foreach (api_get(source->object, "status.loadBalancer.ingress"), i, entry) {
		struct slice address = api_text_slice(json_object_get(entry, "ip"));
		add_target(source, arena,
			   address.n != 0 ? address
					  : api_text_slice(json_object_get(entry, "hostname")));
	}
}

static void read_load_balancer_service(struct dnssource_source *source, struct arena *arena)
{
	json_t *addresses = api_get(source->object, "spec.externalIPs"), *address;
	size_t i;
	json_array_foreach (addresses, i, address)
		add_target(source, arena, api_text_slice(address));
	if (json_array_size(addresses) == 0)
		read_load_balancer(source, arena);
}

static void read_external_name(struct dnssource_source *source, struct arena *arena)
{
	add_target(source, arena, api_text_slice(api_get(source->object, "spec.externalName")));
}

/* Where the targets are, by kind and spec.type. */
static const struct {
	const char *kind, *type;
	void (*read)(struct dnssource_source *source, struct arena *arena);
} places[] = {
	{ "Service", "LoadBalancer", read_load_balancer_service },
	{ "Service", "ExternalName", read_external_name },
	{ "Ingress", "", read_load_balancer },
};

static void read_targets(struct dnssource_source *source, struct arena *arena,
			 struct dnssource_problems *problems)
{
	struct slice rest = slice_of(api_annotation(source->object, DNSSOURCE_TARGET));
	const char *type = api_get_string(source->object, "spec.type");
	if (rest.n != 0) {
		while (rest.n != 0)
			add_target(source, arena, slice_cut(&rest, ','));
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		if (strcmp(places[i].kind, api_kind(source->object)) == 0 &&
		    strcmp(places[i].type, type) == 0) {
			places[i].read(source, arena);
			return;
		}
	}
	dnssource_add_refusal(problems, "NoTarget",
			      "a Service of type %s has no address for DNS; use the type "
			      "LoadBalancer or ExternalName, or the annotation %s",
			      type[0] != '\0' ? type : "ClusterIP", DNSSOURCE_TARGET);
}

/* An alias has one target, and stands alone. */
static void check_targets(const struct dnssource_source *source,
			  struct dnssource_problems *problems)
{
	bool has_addresses = source->ipv4.n + source->ipv6.n != 0;
	if (source->names.n > 1)
		dnssource_add_mistake(problems, "InvalidTarget",
				      "'%s' and '%s' are both host names, but a CNAME record has "
				      "one target; name one, or addresses, in the annotation %s",
				      source->names.v[0], source->names.v[1], DNSSOURCE_TARGET);
	else if (source->names.n == 1 && has_addresses)
		dnssource_add_mistake(problems, "InvalidTarget",
				      "'%s' is a host name and '%s' an address, but a CNAME record "
				      "stands alone; name one kind in the annotation %s",
				      source->names.v[0],
				      source->ipv4.n != 0 ? source->ipv4.v[0] : source->ipv6.v[0],
				      DNSSOURCE_TARGET);
}

/* ---- the TTL ---- */

/* Seconds, or a duration as in Go. */
static void read_ttl(struct dnssource_source *source, struct dnssource_problems *problems)
{
	const char *text = api_annotation(source->object, DNSSOURCE_TTL);
	uint64_t seconds = 0;
	int64_t ns = 0;
	source->ttl_s = -1;
	if (text == NULL)
		return;
	if (slice_u64(slice_of(text), &seconds) < 0 && duration_parse(slice_of(text), &ns) == 0)
		seconds = ns < 0 ? 0 : (uint64_t)ns / NS_PER_S;
	if (seconds >= 1 && seconds <= INT32_MAX)
		source->ttl_s = (int64_t)seconds;
	else
		dnssource_add_mistake(problems, "InvalidTTL",
				      "the annotation %s is '%.64s'; write seconds (300) or a "
				      "duration (5m), from 1 s to 2147483647 s",
				      DNSSOURCE_TTL, text);
}

void dnssource_read(const json_t *object, struct arena *arena, struct dnssource_source *ret,
		    struct dnssource_problems *problems)
{
	const char *controller = api_annotation(object, DNSSOURCE_CONTROLLER);
	*ret = (struct dnssource_source){ .object = object, .ttl_s = -1 };
	/* external-dns's own word; any other names another program. */
	if (controller != NULL && strcmp(controller, "dns-controller") != 0)
		return;
	read_hosts(ret, arena);
	read_rule_hosts(ret, arena);
	if (ret->hosts.n + ret->rule_hosts.n == 0)
		return;
	read_targets(ret, arena, problems);
	read_ttl(ret, problems);
	check_targets(ret, problems);
}
