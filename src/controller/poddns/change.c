/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Applies a policy to a pod. Only pods whose settings come from the cluster are changed: dnsPolicy
 * ClusterFirst outside the node's network, and ClusterFirstWithHostNet. A virtual suffix and the
 * removal of searches turn them into dnsPolicy None with everything written out, which is why a
 * second pass finds nothing to do. */
#include "controller/poddns/change.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "controller/poddns/applied.h"
#include "controller/poddns/cluster.h"
#include "controller/poddns/names.h"
#include "controller/poddns/policy.h"
#include "controller/poddns/search_lists.h"
#include "dns/podresolv/podresolv.h"
#include "kube/webhook/admission.h"

#define DEFAULT_NDOTS 5 /* which dnsPolicy ClusterFirst has, and None has not */

/* One pod, its spec and dnsConfig, and what was applied to it. */
struct change {
	const struct poddns_change_input *input;
	json_t *pod, *spec;
	struct arena arena;
	unsigned applied; /* enum poddns_applied */
	struct admission_reply *reply;
};

static void note_applied(struct change *change, enum poddns_applied field)
{
	change->applied |= field;
}

/* ---- parts of dnsConfig ---- */

static json_t *config_of(const struct change *change)
{
	return json_object_get(change->spec, "dnsConfig");
}

static json_t *list_of(const struct change *change, const char *member)
{
	return json_object_get(config_of(change), member);
}

/* The list, made where it is missing. */
static json_t *make_list(struct change *change, const char *member)
{
	json_t *config = config_of(change);
	if (!json_is_object(config)) {
		config = json_object();
		json_object_set_new(change->spec, "dnsConfig", config);
	}
	json_t *list = json_object_get(config, member);
	if (!json_is_array(list)) {
		list = json_array();
		json_object_set_new(config, member, list);
	}
	return list;
}

/* Whether the list has an entry that says the same, as nodes judge it. */
static bool has_same(const json_t *list, const char *text,
		     bool (*is_same)(struct slice left, struct slice right))
{
	size_t i;
	json_t *item;
	json_array_foreach (list, i, item) {
		if (is_same(slice_of(api_text(item)), slice_of(text)))
			return true;
	}
	return false;
}

static bool has_option(const struct change *change, const char *name)
{
	size_t i;
	json_t *item;
	json_array_foreach (list_of(change, "options"), i, item) {
		if (strcmp(api_get_string(item, "name"), name) == 0)
			return true;
	}
	return false;
}

static void add_ndots(struct change *change, unsigned ndots)
{
	json_array_append_new(
		make_list(change, "options"),
		json_pack("{s:s, s:o}", "name", "ndots", "value", json_sprintf("%u", ndots)));
}

/* What the API server will check again. */
static bool searches_fit(const json_t *list)
{
	size_t i, characters = 0;
	json_t *item;
	json_array_foreach (list, i, item)
		characters += json_string_length(item) + (i != 0);
	return json_array_size(list) <= PODRESOLV_SEARCHES_MAX &&
	       characters <= PODRESOLV_SEARCH_CHARACTERS_MAX;
}

/* ---- dnsPolicy None ---- */

static bool can_replace(const struct change *change, const char *what)
{
	const struct poddns_cluster *cluster = change->input->cluster;
	if (cluster->n_servers == 0)
		admission_warn(change->reply,
			       "%s was not applied: the addresses of the cluster's DNS servers are "
			       "not known.",
			       what);
	else if (cluster->only_on_node &&
		 !json_is_true(json_object_get(change->spec, "hostNetwork")))
		admission_warn(change->reply,
			       "%s was not applied: pods cannot reach %.46s; see "
			       "--pod-dns-servers.",
			       what, cluster->server[0]);
	else if (cluster->domain[0] == '\0')
		admission_warn(change->reply,
			       "%s was not applied: the cluster domain is not known.", what);
	else
		return true;
	return false;
}

/* The cluster's servers, then the pod's own, as kubelet would have them: three in all. */
static void set_servers(struct change *change)
{
	const struct poddns_cluster *cluster = change->input->cluster;
	json_t *own = json_incref(make_list(change, "nameservers")), *item;
	json_t *all = json_array();
	size_t i;
	for (i = 0; i < cluster->n_servers; i++)
		json_array_append_new(all, json_string(cluster->server[i]));
	json_array_foreach (own, i, item) {
		if (has_same(all, api_text(item), podresolv_is_same_server))
			continue;
		if (json_array_size(all) < PODRESOLV_NAMESERVERS_MAX)
			json_array_append(all, item);
		else
			admission_warn(change->reply,
				       "The pod's name server %.46s was left out: there may be "
				       "three, the cluster's first.",
				       api_text(item));
	}
	json_object_set_new(config_of(change), "nameservers", all);
	json_decref(own);
}

static void replace_settings(struct change *change, json_t *searches)
{
	const struct poddns_policy *policy = change->input->policy;
	json_object_set_new(change->spec, "dnsPolicy", json_string("None"));
	set_servers(change);
	json_object_set_new(config_of(change), "searches", searches);
	if (!has_option(change, "ndots")) {
		bool given = (policy->set & PODDNS_NDOTS) != 0;
		add_ndots(change, given ? policy->ndots : DEFAULT_NDOTS);
		if (given)
			note_applied(change, PODDNS_APPLIED_NDOTS);
	}
}

/* ---- searches ---- */

static void set_label(struct change *change, const char *key, const char *value, const char *member)
{
	json_t *meta = json_object_get(change->pod, "metadata");
	json_t *map = json_object_get(meta, member);
	if (!json_is_object(map)) {
		map = json_object();
		json_object_set_new(meta, member, map);
	}
	json_object_set_new(map, key, json_string(value));
}

/* The id of the suffix: the namespace's name, or that of a list that its servers know. NULL, with a
 * warning: there is none. */
static const char *suffix_id(struct change *change)
{
	const struct poddns_change_input *input = change->input;
	struct dns_search_list list;
	const char *ns = api_name(input->ns);
	if (!poddns_own_list(ns, input->cluster->domain, input->policy, &change->arena, &list))
		return ns;
	if (list.n == 0) {
		admission_warn(change->reply, "virtual-suffix was not applied: its search list "
					      "would be empty or too long.");
		return NULL;
	}
	if (!poddns_list_is_published(input->ns, list.id)) {
		admission_warn(change->reply,
			       "virtual-suffix was not applied: DNS servers do not have the search "
			       "list yet. Create the pod again.");
		return NULL;
	}
	set_label(change, PODDNS_LIST_LABEL, list.id, "labels");
	set_label(change, PODDNS_LIST_TEXT_KEY, list.text, "annotations");
	return arena_strdup(&change->arena, list.id);
}

/* False, with a warning: it cannot be applied. */
static bool use_virtual_suffix(struct change *change)
{
	const struct poddns_cluster *cluster = change->input->cluster;
	if (json_array_size(list_of(change, "searches")) != 0 ||
	    json_array_size(list_of(change, "nameservers")) != 0) {
		admission_warn(change->reply,
			       "virtual-suffix was not applied: the pod has its own searches or "
			       "nameservers.");
		return false;
	}
	if (!can_replace(change, "virtual-suffix"))
		return false;
	if (cluster->searchpath != PODDNS_SEARCHPATH_FOUND) {
		admission_warn(change->reply,
			       "virtual-suffix was not applied: the cluster's Corefile %s.",
			       cluster->searchpath == PODDNS_SEARCHPATH_MISSING
				       ? "has no plugin searchpath"
				       : "is not known");
		return false;
	}
	const char *id = suffix_id(change);
	if (id == NULL)
		return false;
	json_t *searches = json_array();
	json_array_append_new(searches, json_sprintf("%s.search.%s", id, cluster->domain));
	note_applied(change, PODDNS_APPLIED_SUFFIX);
	replace_settings(change, searches);
	return true;
}

static void append_names(json_t *searches, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!has_same(searches, names[i], podresolv_is_same_search))
			json_array_append_new(searches, json_string(names[i]));
	}
}

/* Adds searches as well. False, with a warning: it cannot be applied. */
static bool remove_searches(struct change *change)
{
	const struct poddns_change_input *input = change->input;
	const char *names[DNS_SEARCH_LIST_NAMES];
	size_t i;
	json_t *item;
	if (!can_replace(change, "remove-searches"))
		return false;
	size_t count = poddns_searches(api_name(input->ns), input->cluster->domain, input->policy,
				       &change->arena, names);
	json_t *searches = json_array();
	append_names(searches, names, count);
	json_array_foreach (list_of(change, "searches"), i, item) {
		if (!has_same(searches, api_text(item), podresolv_is_same_search))
			json_array_append(searches, item);
	}
	if (!searches_fit(searches)) {
		admission_warn(change->reply, "remove-searches was not applied: the pod's search "
					      "list would be too long.");
		json_decref(searches);
		return false;
	}
	note_applied(change, PODDNS_APPLIED_REMOVE);
	if (input->policy->n_add != 0)
		note_applied(change, PODDNS_APPLIED_ADD);
	replace_settings(change, searches);
	if (!input->policy->remove_node)
		admission_warn(change->reply, "remove-searches also removes the node's own search "
					      "domains, which are not known here.");
	return true;
}

static void add_searches(struct change *change)
{
	const struct poddns_policy *policy = change->input->policy;
	json_t *now = list_of(change, "searches");
	json_t *searches = json_is_array(now) ? json_deep_copy(now) : json_array();
	append_names(searches, policy->add, policy->n_add);
	if (json_array_size(searches) == json_array_size(now)) {
		json_decref(searches);
		return;
	}
	if (!searches_fit(searches)) {
		admission_warn(change->reply, "add-searches was not applied: the pod's search list "
					      "would be too long.");
		json_decref(searches);
		return;
	}
	make_list(change, "searches");
	json_object_set_new(config_of(change), "searches", searches);
	note_applied(change, PODDNS_APPLIED_ADD);
}

static void apply_policy(struct change *change)
{
	const struct poddns_policy *policy = change->input->policy;
	bool removes = policy->n_remove != 0 || policy->remove_node;
	/* Each does what those behind it do: these are for pods that cannot have it. */
	bool done = (policy->virtual_suffix && use_virtual_suffix(change)) ||
		    (removes && remove_searches(change));
	if (!done && policy->n_add != 0)
		add_searches(change);
	if ((policy->set & PODDNS_NDOTS) != 0 && !has_option(change, "ndots")) {
		add_ndots(change, policy->ndots);
		note_applied(change, PODDNS_APPLIED_NDOTS);
	}
}

/* ---- which pods ---- */

static bool is_list_or_absent(const json_t *config, const char *member)
{
	const json_t *list = json_object_get(config, member);
	return list == NULL || json_is_null(list) || json_is_array(list);
}

/* The rest is for the API server to refuse. */
static bool is_well_formed(const json_t *spec)
{
	const json_t *config = json_object_get(spec, "dnsConfig");
	return config == NULL || json_is_null(config) ||
	       (json_is_object(config) && is_list_or_absent(config, "nameservers") &&
		is_list_or_absent(config, "searches") && is_list_or_absent(config, "options"));
}

static bool uses_cluster_dns(const json_t *spec)
{
	const char *policy = api_get_string(spec, "dnsPolicy");
	if (strcmp(policy, "ClusterFirstWithHostNet") == 0)
		return true;
	return (policy[0] == '\0' || strcmp(policy, "ClusterFirst") == 0) &&
	       !json_is_true(json_object_get(spec, "hostNetwork"));
}

void poddns_change_pod(const struct poddns_change_input *input, json_t *pod,
		       struct admission_reply *reply)
{
	struct change change = {
		.input = input, .pod = pod, .spec = json_object_get(pod, "spec"), .reply = reply
	};
	const char *opt_out = api_label(pod, PODDNS_OPT_OUT_LABEL);
	if (!json_is_object(change.spec) || !json_is_object(json_object_get(pod, "metadata")) ||
	    !is_well_formed(change.spec))
		return;
	change.applied = poddns_applied_read(input, pod);
	if (uses_cluster_dns(change.spec) &&
	    (opt_out == NULL || strcmp(opt_out, PODDNS_OPT_OUT) != 0) &&
	    strcmp(api_get_string(change.spec, "os.name"), "windows") != 0) {
		arena_init(&change.arena);
		apply_policy(&change);
		arena_done(&change.arena);
	}
	poddns_applied_write(pod, change.applied);
}
