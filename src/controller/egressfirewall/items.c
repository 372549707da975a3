/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hosts to JSON and back. */
#include "controller/egressfirewall/items.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/egress/name.h"
#include "api/egress/range.h"
#include "api/time.h"
#include "api/tree.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"

/* ---- writing ---- */

struct found_host {
	const struct tracked_host *host;
	size_t rank; /* among the hosts of its client, those that last longest first */
};

struct found {
	VEC(struct found_host) hosts;
};

static void collect_host(void *ctx, struct tracked_host *host)
{
	struct found *found = ctx;
	struct found_host one = { host, 0 };
	if (host->addresses.n != 0)
		vec_push(&found->hosts, one);
}

static void collect_hosts(const struct egressfirewall_state *state, const char *name,
			  const struct egressfirewall_object *object, struct found *found)
{
	const char *parent = egress_name_below_wildcard(name);
	struct tracked_host *own = tracked_find(&state->hosts, name);
	/* The host that has the object's name is below the wildcard as well. */
	if (object->wildcard && parent != NULL)
		tracked_each_below(&state->hosts, parent, object->any_depth, collect_host, found);
	else if (object->regular && own != NULL)
		collect_host(found, own);
}

/* By rank first; those that last longest. */
static int compare_end(const void *left, const void *right)
{
	const struct found_host *left_host = left, *right_host = right;
	uint64_t left_ns = tracked_host_expires_ns(left_host->host);
	uint64_t right_ns = tracked_host_expires_ns(right_host->host);
	if (left_host->rank != right_host->rank)
		return left_host->rank < right_host->rank ? -1 : 1;
	return left_ns > right_ns ? -1 : left_ns < right_ns ? 1 : 0;
}

static int compare_name(const void *left, const void *right)
{
	const struct found_host *left_host = left, *right_host = right;
	return strcmp(left_host->host->name, right_host->host->name);
}

/* What a host takes in JSON, at most: its item, and in metadata.managedFields once more its name and
 * addresses, as keys of lists. */
static size_t bytes_of_host(const struct tracked_host *host)
{
	enum { ITEM = 26, MANAGED_ITEM = 66, ADDRESS = 101, MANAGED_ADDRESS = 91 };
	enum { CANONICAL = 20, MANAGED_CANONICAL = 21 };
	size_t bytes = ITEM + MANAGED_ITEM + 2 * strlen(host->name);
	for (size_t i = 0; i < host->addresses.n; i++) {
		const struct tracked_address *address = &host->addresses.v[i];
		size_t text = address->n == 4 ? INET_ADDRSTRLEN : INET6_ADDRSTRLEN;
		bytes += ADDRESS + MANAGED_ADDRESS + 2 * (text - 1);
		if (address->canonical != NULL)
			bytes += CANONICAL + MANAGED_CANONICAL + strlen(address->canonical);
	}
	return bytes;
}

static void sort_found(struct found *found, int (*compare)(const void *left, const void *right))
{
	if (found->hosts.n > 1)
		qsort(found->hosts.v, found->hosts.n, sizeof(*found->hosts.v), compare);
}

/* Numbers the hosts of each client, in the order that they are in. */
static void rank_hosts(struct found *found)
{
	struct map counts; /* by client: the count itself, as a pointer */
	map_init(&counts);
	for (size_t i = 0; i < found->hosts.n; i++) {
		const uint64_t *id = &found->hosts.v[i].host->place.client_id;
		struct slice key = { (const char *)id, sizeof(*id) };
		uintptr_t n = (uintptr_t)map_get(&counts, key);
		found->hosts.v[i].rank = n;
		map_set(&counts, key, (void *)(n + 1));
	}
	map_done(&counts);
}

/* Keeps those that last longest, as many of each client as there is room for: one that asks for very many names leaves out
 * its own. */
static void limit_hosts(struct found *found)
{
	size_t entries = 0, bytes = 0, n = 0;
	sort_found(found, compare_end);
	rank_hosts(found);
	sort_found(found, compare_end);
	for (; n < found->hosts.n && n < EGRESSFIREWALL_ITEMS_MAX; n++) {
		const struct tracked_host *host = found->hosts.v[n].host;
		entries += host->addresses.n;
		bytes += bytes_of_host(host);
		if (entries > EGRESSFIREWALL_ENTRIES_MAX || bytes > EGRESSFIREWALL_BYTES_MAX)
			break;
	}
	found->hosts.n = n;
	sort_found(found, compare_name);
}

static json_t *write_address(const struct tracked_address *address)
{
	char ip[INET6_ADDRSTRLEN], ttl[16], next[API_TIME_TEXT_MAX];
	inet_ntop(address->n == 4 ? AF_INET : AF_INET6, address->bytes, ip, sizeof(ip));
	snprintf(ttl, sizeof(ttl), "%u", (unsigned)address->ttl_s);
	api_time_format(address->lookup_ns, next);
	json_t *info = json_pack("{s:s, s:s, s:s}", "ip", ip, "ttl", ttl, "nextlookuptime", next);
	if (address->first_ns != 0)
		json_object_set_new(info, "firstseen",
				    json_string(api_time_format(address->first_ns, next)));
	if (address->canonical != NULL)
		json_object_set_new(info, "canonicalname", json_string(address->canonical));
	return info;
}

json_t *egressfirewall_items_write(const struct egressfirewall_state *state, const char *name,
				   const struct egressfirewall_object *object)
{
	struct found found = { 0 };
	json_t *items = json_array();
	collect_hosts(state, name, object, &found);
	limit_hosts(&found);
	for (size_t i = 0; i < found.hosts.n; i++) {
		const struct tracked_host *host = found.hosts.v[i].host;
		json_t *info = json_array();
		for (size_t k = 0; k < host->addresses.n; k++)
			json_array_append_new(info, write_address(&host->addresses.v[k]));
		json_array_append_new(items,
				      json_pack("{s:s, s:o}", "dnsname", host->name, "info", info));
	}
	vec_done(&found.hosts);
	return items;
}

/* As kubectl shows the addresses of Endpoints. */
char *egressfirewall_items_addresses(const json_t *items)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct map seen;
	map_init(&seen);
	for (size_t i = 0; i < json_array_size(items); i++) {
		const json_t *info = json_object_get(json_array_get(items, i), "info");
		for (size_t k = 0; k < json_array_size(info); k++) {
			const char *ip = api_text(json_object_get(json_array_get(info, k), "ip"));
			bool is_new = map_set(&seen, slice_of(ip), &seen) == NULL;
			if (is_new && seen.n <= EGRESSFIREWALL_SHOWN_MAX)
				strbuf_addf(&text, "%s%s", seen.n == 1 ? "" : ",", ip);
		}
	}
	if (seen.n > EGRESSFIREWALL_SHOWN_MAX)
		strbuf_addf(&text, " + %zu more...", seen.n - EGRESSFIREWALL_SHOWN_MAX);
	map_done(&seen);
	return xstrdup(text.n != 0 ? text.s : "");
}

/* ---- comparing ---- */

static bool may_be_dropped(const char *key)
{
	return strcmp(key, "firstseen") == 0 || strcmp(key, "canonicalname") == 0;
}

static bool address_equal(const json_t *now, const json_t *wanted)
{
	const char *key;
	json_t *value;
	size_t kept = 0;
	json_object_foreach (api_tree(wanted), key, value) {
		const json_t *found = json_object_get(now, key);
		if (found == NULL && may_be_dropped(key))
			continue;
		if (found == NULL || !json_equal(found, value))
			return false;
		kept++;
	}
	return json_object_size(now) == kept;
}

static bool item_equal(const json_t *now, const json_t *wanted)
{
	const json_t *now_info = json_object_get(now, "info");
	const json_t *info = json_object_get(wanted, "info");
	if (!json_equal(json_object_get(now, "dnsname"), json_object_get(wanted, "dnsname")) ||
	    json_array_size(now_info) != json_array_size(info))
		return false;
	for (size_t i = 0; i < json_array_size(info); i++) {
		if (!address_equal(json_array_get(now_info, i), json_array_get(info, i)))
			return false;
	}
	return true;
}

bool egressfirewall_items_equal(const json_t *now, const json_t *items)
{
	if (json_array_size(now) != json_array_size(items))
		return false;
	for (size_t i = 0; i < json_array_size(items); i++) {
		if (!item_equal(json_array_get(now, i), json_array_get(items, i)))
			return false;
	}
	return true;
}

/* ---- reading ---- */

static bool read_address(const json_t *info, struct tracked_address *ret)
{
	const char *ip = api_text(json_object_get(info, "ip"));
	uint64_t ttl;
	*ret = (struct tracked_address){ 0 };
	if (inet_pton(AF_INET, ip, ret->bytes) == 1)
		ret->n = 4;
	else if (inet_pton(AF_INET6, ip, ret->bytes) == 1)
		ret->n = 16;
	if (ret->n == 0 || egress_range_is_never_learnt(ret->bytes, ret->n) ||
	    slice_u64(api_text_slice(json_object_get(info, "ttl")), &ttl) < 0 ||
	    api_time_parse(api_text(json_object_get(info, "nextlookuptime")), &ret->lookup_ns) < 0)
		return false;
	ret->ttl_s = (uint32_t)MIN(ttl, (uint64_t)TRACKED_TTL_MAX_S);
	if (api_time_parse(api_text(json_object_get(info, "firstseen")), &ret->first_ns) < 0)
		ret->first_ns = 0; /* written before this field existed, or pruned */
	return true;
}

static bool is_carried(const char *name, const struct egressfirewall_object *object,
		       const char *host)
{
	const char *parent = egress_name_below_wildcard(name);
	return (object->regular && strcmp(name, host) == 0) ||
	       (object->wildcard && parent != NULL &&
		egress_name_is_covered(host, parent, object->any_depth));
}

/* Limits hold for names that were learnt, not for those of rules. */
static bool restore_item(struct egressfirewall_state *state, const char *object_name,
			 const char *host_name, bool is_regular, const json_t *list)
{
	struct tracked_now now = egressfirewall_now();
	struct tracked_host *host =
		is_regular ? tracked_add(&state->hosts, host_name, &now)
			   : tracked_add_learnt(&state->hosts, host_name, object_name, 0, &now);
	for (size_t i = 0; host != NULL && i < json_array_size(list); i++) {
		const json_t *info = json_array_get(list, i);
		const json_t *canonical = json_object_get(info, "canonicalname");
		struct tracked_address address;
		struct egress_name name;
		if (!read_address(info, &address))
			continue;
		bool is_name = egress_name_parse_host(api_text_slice(canonical), &name) == NULL;
		tracked_host_restore(host, &address, is_name ? name.text : NULL, &now);
	}
	return host != NULL;
}

void egressfirewall_items_restore(struct egressfirewall_state *state, const char *name,
				  const struct egressfirewall_object *object, const json_t *items,
				  void (*added)(void *ctx, const char *host), void *ctx)
{
	size_t n = MIN(json_array_size(items), (size_t)EGRESSFIREWALL_ITEMS_MAX);
	for (size_t i = 0; i < n; i++) {
		const json_t *item = json_array_get(items, i);
		const json_t *text = json_object_get(item, "dnsname");
		struct egress_name host;
		if (egress_name_parse_host(api_text_slice(text), &host) != NULL ||
		    !is_carried(name, object, host.text))
			continue;
		bool is_regular = object->regular && strcmp(host.text, name) == 0;
		if (restore_item(state, name, host.text, is_regular, json_object_get(item, "info")))
			added(ctx, host.text);
	}
}
