/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks which fields of a policy a pod still has after other hooks have changed it. */
#include "controller/poddns/applied.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "base/strbuf.h"
#include "controller/poddns/cluster.h"
#include "controller/poddns/names.h"
#include "controller/poddns/policy.h"
#include "dns/podresolv/podresolv.h"

static bool has_search(const json_t *pod, const char *name)
{
	size_t i;
	json_t *item;
	json_array_foreach (api_tree(api_get(pod, "spec.dnsConfig.searches")), i, item) {
		if (podresolv_is_same_search(slice_of(api_text(item)), slice_of(name)))
			return true;
	}
	return false;
}

static bool is_written_out(const json_t *pod)
{
	return strcmp(api_get_string(pod, "spec.dnsPolicy"), "None") == 0;
}

static bool has_suffix(const struct poddns_change_input *input, const json_t *pod)
{
	const json_t *searches = api_get(pod, "spec.dnsConfig.searches");
	const char *only = api_text(json_array_get(searches, 0));
	char end[COREFILE_DOMAIN_MAX + sizeof(".search.")];
	snprintf(end, sizeof(end), ".search.%s", input->cluster->domain);
	return input->policy->virtual_suffix && is_written_out(pod) &&
	       json_array_size(searches) == 1 && strlen(only) > strlen(end) &&
	       strcmp(only + strlen(only) - strlen(end), end) == 0;
}

static bool lacks_removed(const struct poddns_change_input *input, const json_t *pod)
{
	const struct poddns_policy *policy = input->policy;
	for (size_t i = 0; i < policy->n_remove; i++) {
		if (has_search(pod, policy->remove[i]))
			return false;
	}
	return (policy->n_remove != 0 || policy->remove_node) && is_written_out(pod);
}

static bool has_added(const struct poddns_change_input *input, const json_t *pod)
{
	const struct poddns_policy *policy = input->policy;
	for (size_t i = 0; i < policy->n_add; i++) {
		if (!has_search(pod, policy->add[i]))
			return false;
	}
	return policy->n_add != 0;
}

static bool has_ndots(const struct poddns_change_input *input, const json_t *pod)
{
	char wanted[16];
	size_t i;
	json_t *item;
	snprintf(wanted, sizeof(wanted), "%u", input->policy->ndots);
	json_array_foreach (api_tree(api_get(pod, "spec.dnsConfig.options")), i, item) {
		if (strcmp(api_get_string(item, "name"), "ndots") == 0 &&
		    strcmp(api_get_string(item, "value"), wanted) == 0)
			return (input->policy->set & PODDNS_NDOTS) != 0;
	}
	return false;
}

/* In the order of the annotation. */
static const struct {
	enum poddns_applied field;
	const char *word;
	bool (*holds)(const struct poddns_change_input *input, const json_t *pod);
} words[] = {
	{ PODDNS_APPLIED_SUFFIX, "virtual-suffix", has_suffix },
	{ PODDNS_APPLIED_REMOVE, "remove-searches", lacks_removed },
	{ PODDNS_APPLIED_ADD, "add-searches", has_added },
	{ PODDNS_APPLIED_NDOTS, "ndots", has_ndots },
};

static bool has_word(struct slice list, const char *word)
{
	while (list.n != 0) {
		if (slice_is(slice_cut(&list, ','), word))
			return true;
	}
	return false;
}

unsigned poddns_applied_read(const struct poddns_change_input *input, const json_t *pod)
{
	const char *before = api_annotation(pod, PODDNS_APPLIED_KEY);
	unsigned applied = 0;
	for (size_t i = 0; before != NULL && i < ARRAY_LEN(words); i++) {
		if (has_word(slice_of(before), words[i].word) && words[i].holds(input, pod))
			applied |= words[i].field;
	}
	return applied;
}

void poddns_applied_write(json_t *pod, unsigned applied)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	json_t *meta = json_object_get(pod, "metadata");
	json_t *annotations = json_object_get(meta, "annotations");
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if ((applied & words[i].field) != 0)
			strbuf_addf(&text, "%s%s", text.n != 0 ? "," : "", words[i].word);
	}
	if (text.n == 0) {
		json_object_del(annotations, PODDNS_APPLIED_KEY);
		return;
	}
	if (!json_is_object(annotations)) {
		annotations = json_object();
		json_object_set_new(meta, "annotations", annotations);
	}
	json_object_set_new(annotations, PODDNS_APPLIED_KEY, json_string(text.s));
}
