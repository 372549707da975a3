/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as the ConfigMap's list of policies, and its first line as the annotations of a Namespace:
 * whatever is accepted is a policy within its limits. */
#include <stdlib.h>
#include <string.h>

#include "controller/poddns/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_policy(const struct poddns_policy *policy)
{
	if (policy->ndots > PODDNS_NDOTS_MAX || policy->n_add > PODRESOLV_SEARCHES_MAX ||
	    policy->n_remove > PODRESOLV_SEARCHES_MAX)
		abort();
}

static json_t *make_namespace(const char *line, size_t len)
{
	static const char *const keys[] = { PODDNS_NDOTS_KEY, PODDNS_ADD_KEY, PODDNS_REMOVE_KEY,
					    PODDNS_PROFILE_KEY, PODDNS_VIRTUAL_SUFFIX_KEY };
	json_t *annotations = json_object();
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		json_t *text = json_stringn(line, len);
		if (text != NULL)
			json_object_set_new(annotations, keys[i], text);
	}
	return json_pack("{s:{s:s, s:{s:s}, s:o}}", "metadata", "name", "shop", "labels", "team",
			 "a", "annotations", annotations);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *text = (const char *)data, *end = memchr(text, '\n', len);
	struct poddns_entries *entries = poddns_entries_parse((struct slice){ text, len });
	struct poddns_policy policy;
	struct poddns_problems problems;
	struct arena arena;
	json_t *plain = make_namespace(NULL, 0);
	json_t *annotated = make_namespace(text, end != NULL ? (size_t)(end - text) : len);
	arena_init(&arena);
	poddns_policy_of(plain, entries, &arena, &policy, &problems);
	check_policy(&policy);
	poddns_policy_of(annotated, entries, &arena, &policy, &problems);
	check_policy(&policy);
	json_decref(plain);
	json_decref(annotated);
	poddns_entries_unref(entries);
	arena_done(&arena);
	return 0;
}
