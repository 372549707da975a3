/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lists of a pod: what its policy gives, then its dnsConfig, without repetitions. Entries that
 * are not used stay in their lists with the reason, for podresolv_explain. */
#include <assert.h>

#include "base/err.h"
#include "base/map.h"
#include "dns/podresolv/address_priv.h"
#include "dns/podresolv/findings_priv.h"
#include "dns/podresolv/limits_priv.h"
#include "dns/podresolv/podresolv.h"
#include "dns/podresolv/words_priv.h"

struct computation {
	const struct podresolv_input *input;
	const struct podresolv_config *host; /* never NULL; empty where there is none to use */
	struct arena *arena;
	struct podresolv_result *result;
	struct map seen; /* of the list that is being built: an entry's key -> its place plus one */
};

static const struct podresolv_config empty_config;

static bool uses_cluster(enum podresolv_policy policy)
{
	return policy == PODRESOLV_CLUSTER_FIRST || policy == PODRESOLV_CLUSTER_FIRST_WITH_HOST_NET;
}

/* ---- the policy that applies ---- */

static bool has_cluster_address(const struct podresolv_input *input)
{
	struct podresolv_address address;
	for (size_t i = 0; i < input->n_cluster_dns; i++) {
		if (podresolv_read_address(input->cluster_dns[i], &address))
			return true;
	}
	return false;
}

/* Kubelet's words: one Event for its node, one for the pod. */
static void report_missing_cluster_dns(struct computation *computation)
{
	static const char words[] =
		"kubelet does not have ClusterDNS IP configured and cannot create Pod using "
		"\"ClusterFirst\" policy. Falling back to \"Default\" policy.";
	const struct podresolv_input *input = computation->input;
	struct podresolv_finding finding = { .severity = PODRESOLV_EVENT,
					     .on_node = true,
					     .reason = "MissingClusterDNS" };
	podresolv_add_finding(computation->result, computation->arena, finding, "%s", words);
	finding.on_node = false;
	CLEANUP(strbuf_done) struct strbuf pod = STRBUF_INIT, quoted = STRBUF_INIT;
	strbuf_add_slice(&pod, input->name);
	strbuf_addc(&pod, '_');
	strbuf_add_slice(&pod, input->ns);
	strbuf_addc(&pod, '(');
	strbuf_add_slice(&pod, input->uid);
	strbuf_addc(&pod, ')');
	strbuf_add_quoted(&quoted, strbuf_slice(&pod));
	podresolv_add_finding(computation->result, computation->arena, finding, "pod: %s. %s",
			      quoted.s, words);
}

static void choose_policy(struct computation *computation)
{
	const struct podresolv_input *input = computation->input;
	enum podresolv_policy policy = input->policy;
	if (policy == PODRESOLV_CLUSTER_FIRST && input->host_network)
		policy = PODRESOLV_DEFAULT;
	if (uses_cluster(policy) && !has_cluster_address(input)) {
		report_missing_cluster_dns(computation);
		policy = PODRESOLV_DEFAULT;
	}
	computation->result->policy = policy;
}

/* ---- lists ---- */

static void start_list(struct computation *computation, struct podresolv_list *list, size_t room)
{
	list->v = arena_alloc(computation->arena, room * sizeof(*list->v));
	list->n = 0;
	map_init(&computation->seen);
}

/* Adds the entry; it is dropped if the list has one with the same key. */
static void add_unique(struct computation *computation, struct podresolv_list *list,
		       struct podresolv_entry entry, struct slice key)
{
	if (entry.dropped == PODRESOLV_KEPT) {
		if (map_has(&computation->seen, key))
			entry.dropped = PODRESOLV_DUPLICATE;
		else
			map_set(&computation->seen, key, list);
	}
	list->v[list->n++] = entry;
}

static void add_nameserver(struct computation *computation, struct slice text,
			   enum podresolv_source source, size_t index)
{
	struct podresolv_entry entry = { .text = text, .source = source, .index = index };
	struct podresolv_address address;
	struct slice key = text;
	if (!podresolv_read_address(text, &address)) {
		/* Kubelet hands on what a host's file has there: libc knows scopes, for example. */
		if (source == PODRESOLV_FROM_CLUSTER)
			entry.dropped = PODRESOLV_NO_ADDRESS;
		else if (!podresolv_is_word(text))
			entry.dropped = PODRESOLV_UNSAFE;
	} else if (source == PODRESOLV_FROM_CLUSTER) {
		entry.text = key = podresolv_unmapped_text(&address, computation->arena);
	} else if (!address.has_zeros) {
		entry.text = podresolv_address_text(&address, computation->arena);
		key = podresolv_unmapped_text(&address, computation->arena);
	}
	add_unique(computation, &computation->result->nameservers, entry, key);
}

/* Without final dots; "." stays. */
static struct slice trim_dots(struct slice domain)
{
	while (domain.n > 1 && domain.p[domain.n - 1] == '.')
		domain.n--;
	return domain;
}

static void add_search(struct computation *computation, struct slice text,
		       enum podresolv_source source, size_t index)
{
	struct podresolv_entry entry = { .text = text, .source = source, .index = index };
	if (!podresolv_is_word(text))
		entry.dropped = PODRESOLV_UNSAFE;
	else
		entry.text = trim_dots(text);
	char *lower = arena_strndup(computation->arena, entry.text.n > 0 ? entry.text.p : "",
				    entry.text.n);
	for (size_t i = 0; i < entry.text.n; i++)
		lower[i] = ascii_lower(lower[i]);
	add_unique(computation, &computation->result->searches, entry,
		   (struct slice){ lower, entry.text.n });
}

static struct slice server_key(struct slice text, struct arena *arena)
{
	struct podresolv_address address;
	if (podresolv_read_address(text, &address) && !address.has_zeros)
		return podresolv_unmapped_text(&address, arena);
	return text;
}

bool podresolv_is_same_server(struct slice left, struct slice right)
{
	struct arena arena;
	arena_init(&arena);
	bool same = slice_eq(server_key(left, &arena), server_key(right, &arena));
	arena_done(&arena);
	return same;
}

bool podresolv_is_same_search(struct slice left, struct slice right)
{
	return slice_eq_nocase(trim_dots(left), trim_dots(right));
}

/* ---- name servers and search domains ---- */

static void add_loopback_servers(struct computation *computation)
{
	const struct podresolv_input *input = computation->input;
	for (size_t i = 0; i < input->n_node_ips; i++) {
		bool is_v6 = slice_find(input->node_ips[i], ':') >= 0;
		add_nameserver(computation, is_v6 ? SLICE("::1") : SLICE("127.0.0.1"),
			       PODRESOLV_FROM_NODE, i);
	}
	if (input->n_node_ips == 0)
		add_nameserver(computation, SLICE("127.0.0.1"), PODRESOLV_FROM_NODE, 0);
}

static void collect_nameservers(struct computation *computation, const struct podresolv_config *own)
{
	const struct podresolv_input *input = computation->input;
	enum podresolv_policy policy = computation->result->policy;
	start_list(computation, &computation->result->nameservers,
		   input->n_cluster_dns + input->n_node_ips + 1 + computation->host->n_nameservers +
			   own->n_nameservers);
	for (size_t i = 0; uses_cluster(policy) && i < input->n_cluster_dns; i++)
		add_nameserver(computation, input->cluster_dns[i], PODRESOLV_FROM_CLUSTER, i);
	if (policy == PODRESOLV_DEFAULT && input->no_host_file)
		add_loopback_servers(computation);
	for (size_t i = 0; policy == PODRESOLV_DEFAULT && i < computation->host->n_nameservers; i++)
		add_nameserver(computation, computation->host->nameservers[i], PODRESOLV_FROM_HOST,
			       i);
	for (size_t i = 0; i < own->n_nameservers; i++)
		add_nameserver(computation, own->nameservers[i], PODRESOLV_FROM_POD, i);
	map_done(&computation->seen);
}

/* The namespace's domain, that of all Services, and that of the cluster. */
static void add_cluster_searches(struct computation *computation)
{
	struct slice zone = computation->input->cluster_domain, ns = computation->input->ns;
	char *text = arena_printf(computation->arena, "%.*s.svc.%.*s", (int)ns.n, ns.p, (int)zone.n,
				  zone.p);
	size_t len = ns.n + sizeof(".svc.") - 1 + zone.n;
	assert(strlen(text) <= len);
	struct slice whole = slice_of(text);
	add_search(computation, whole, PODRESOLV_FROM_CLUSTER, 0);
	add_search(computation, slice_from(whole, ns.n + 1), PODRESOLV_FROM_CLUSTER, 1);
	add_search(computation, zone, PODRESOLV_FROM_CLUSTER, 2);
}

static void collect_searches(struct computation *computation, const struct podresolv_config *own)
{
	const struct podresolv_input *input = computation->input;
	enum podresolv_policy policy = computation->result->policy;
	start_list(computation, &computation->result->searches,
		   4 + computation->host->n_searches + own->n_searches);
	if (uses_cluster(policy) && input->cluster_domain.n > 0)
		add_cluster_searches(computation);
	if (policy == PODRESOLV_DEFAULT && input->no_host_file)
		add_search(computation, SLICE("."), PODRESOLV_FROM_NODE, 0);
	for (size_t i = 0; i < computation->host->n_searches; i++)
		add_search(computation, computation->host->searches[i], PODRESOLV_FROM_HOST, i);
	for (size_t i = 0; i < own->n_searches; i++)
		add_search(computation, own->searches[i], PODRESOLV_FROM_POD, i);
	map_done(&computation->seen);
}

/* ---- options: of those with one name the last counts, at the place of the first ---- */

/* Entries are chained by name while they are collected, so that the finished list can show each
 * where its name stands first. */
struct option_chain {
	struct podresolv_entry entry;
	struct option_chain *next; /* a later one of the same name */
};

struct option_names {
	struct option_chain **first, **last; /* per name, in the order of their first places */
	size_t n;
};

static void add_option(struct computation *computation, struct option_names *names,
		       struct podresolv_option option, enum podresolv_source source, size_t index)
{
	struct option_chain *link = arena_calloc(computation->arena, sizeof(*link));
	link->entry = (struct podresolv_entry){
		.text = option.name, .value = option.value, .source = source, .index = index
	};
	if (!podresolv_is_visible_word(option.name) || slice_find(option.name, ':') >= 0 ||
	    (option.value.n > 0 && !podresolv_is_visible_word(option.value)))
		link->entry.dropped = PODRESOLV_UNSAFE;
	uintptr_t place = 0;
	if (link->entry.dropped == PODRESOLV_KEPT)
		place = (uintptr_t)map_get(&computation->seen, option.name);
	if (place == 0) {
		names->first[names->n] = names->last[names->n] = link;
		names->n++;
		if (link->entry.dropped == PODRESOLV_KEPT)
			map_set(&computation->seen, option.name, (void *)(uintptr_t)names->n);
		return;
	}
	names->last[place - 1]->entry.dropped = PODRESOLV_OVERRIDDEN;
	names->last[place - 1]->next = link;
	names->last[place - 1] = link;
}

static void collect_options(struct computation *computation, const struct podresolv_config *own)
{
	enum podresolv_policy policy = computation->result->policy;
	struct podresolv_list *list = &computation->result->options;
	size_t room = 1 + computation->host->n_options + own->n_options;
	struct option_names names = {
		.first = arena_alloc(computation->arena, room * sizeof(struct option_chain *)),
		.last = arena_alloc(computation->arena, room * sizeof(struct option_chain *)),
	};
	start_list(computation, list, room);
	if (uses_cluster(policy))
		add_option(computation, &names,
			   (struct podresolv_option){ SLICE("ndots"), SLICE("5") },
			   PODRESOLV_FROM_CLUSTER, 0);
	for (size_t i = 0; policy == PODRESOLV_DEFAULT && i < computation->host->n_options; i++)
		add_option(computation, &names, computation->host->options[i], PODRESOLV_FROM_HOST,
			   i);
	for (size_t i = 0; i < own->n_options; i++)
		add_option(computation, &names, own->options[i], PODRESOLV_FROM_POD, i);
	for (size_t i = 0; i < names.n; i++) {
		for (struct option_chain *link = names.first[i]; link != NULL; link = link->next)
			list->v[list->n++] = link->entry;
	}
	assert(list->n <= room);
	map_done(&computation->seen);
}

int podresolv_compute(const struct podresolv_input *input, struct arena *arena,
		      struct podresolv_result *ret, struct err_text err)
{
	struct podresolv_result result = { 0 };
	struct computation computation = {
		.input = input, .host = &empty_config, .arena = arena, .result = &result
	};
	const struct podresolv_config *own = input->config != NULL ? input->config : &empty_config;
	choose_policy(&computation);
	if (result.policy != PODRESOLV_NONE && !input->no_host_file) {
		if (input->host == NULL) {
			err_text_set(err, "policy %s needs the host's resolver file: %s",
				     podresolv_policy_name(result.policy),
				     input->host_error != NULL ? input->host_error : "not given");
			return ERR_NOTFOUND;
		}
		computation.host = input->host;
	}
	collect_nameservers(&computation, own);
	collect_searches(&computation, own);
	collect_options(&computation, own);
	podresolv_apply_limits(input, arena, &result);
	podresolv_lint(input, arena, &result);
	*ret = result;
	return 0;
}
