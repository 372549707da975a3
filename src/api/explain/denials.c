/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An Event of an agent is about one destination, which is in its action: "Connect 203.0.113.8". */
#include "api/explain/denials.h"

#include <stdlib.h>
#include <string.h>

#include "api/egress/rules.h"
#include "api/meta.h"
#include "api/tree.h"

#define REASON "ConnectionDenied"
#define ACTION "Connect "

static bool is_denial(const json_t *event, const char *ns)
{
	return strcmp(api_get_string(event, "reason"), REASON) == 0 &&
	       strcmp(api_get_string(event, "regarding.kind"), EGRESS_FIREWALL_KIND) == 0 &&
	       strcmp(api_get_string(event, "regarding.namespace"), ns) == 0 &&
	       strcmp(api_namespace(event), ns) == 0; /* who may write Events elsewhere cannot */
}

static bool is_one_of(const struct explain_address *address,
		      const struct explain_address *addresses, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (explain_address_compare(address, &addresses[i]) == 0)
			return true;
	}
	return false;
}

static void add_denial(const json_t *event, const struct explain_address *address,
		       struct arena *arena, explain_denial_list *ret)
{
	const char *last = api_get_string(event, "series.lastObservedTime");
	json_int_t samples = json_integer_value(api_get(event, "series.count"));
	if (last[0] == '\0')
		last = api_get_string(event, "eventTime");
	vec_push(ret, ((struct explain_denial){
			      .address = *address,
			      .text = arena_strdup(arena, api_get_string(event, "note")),
			      .last = arena_strdup(arena, last),
			      .samples = samples > 0 ? (uint64_t)samples : 1 }));
}

static int compare_times(const void *left, const void *right)
{
	const struct explain_denial *one = left, *other = right;
	int order = strcmp(other->last, one->last);
	return order != 0 ? order : strcmp(one->text, other->text);
}

void explain_denials_find(const json_t *events, const char *ns,
			  const struct explain_address *addresses, size_t count,
			  struct arena *arena, explain_denial_list *ret)
{
	for (size_t i = 0; i < json_array_size(events); i++) {
		const json_t *event = json_array_get(events, i);
		struct slice action = slice_of(api_get_string(event, "action"));
		struct explain_address address;
		if (!is_denial(event, ns) || !slice_starts(action, SLICE(ACTION)))
			continue;
		action = slice_of(action.p + sizeof(ACTION) - 1);
		if (explain_address_parse(action, &address) &&
		    is_one_of(&address, addresses, count))
			add_denial(event, &address, arena, ret);
	}
	if (ret->n > 1)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_times);
	ret->n = MIN(ret->n, (size_t)EXPLAIN_DENIALS_MAX);
}
