/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collects endpoints in groups, and plans which EndpointSlices to change, create and remove so that
 * they hold the groups. */
#include "apiserver/controllers/endpoints_slices.h"

#include <assert.h>
#include <string.h>

#include "api/meta.h"
#include "apiserver/controllers/endpoints.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/rules/members.h"
#include "base/map.h"
#include "base/mem.h"

static json_t *find_group(json_t *groups, const char *type, json_t *ports)
{
	json_t *group;
	size_t i;
	json_array_foreach (groups, i, group) {
		if (apiserver_is(group, "addressType", type) &&
		    json_equal(json_object_get(group, "ports"), ports))
			return group;
	}
	group = json_pack("{ss,sO,s[]}", "addressType", type, "ports", ports, "endpoints");
	json_array_append_new(groups, group);
	return group;
}

void apiserver_endpoints_groups_add(json_t *groups, const char *type, json_t *ports,
				    json_t *endpoint)
{
	json_t *group = find_group(groups, type, ports);
	json_array_append_new(json_object_get(group, "endpoints"), endpoint);
}

/* ---- plan ---- */

/* The new content of one slice. */
struct draft {
	const json_t *present; /* NULL: a new slice */
	const json_t *group;   /* the group it holds; NULL: none, free for another */
	json_t *endpoints;     /* the new list */
};

struct drafts {
	struct draft *v;
	size_t n, max;
};

/* An endpoint is the same before and after if it has the same target and addresses. */
static char *identity_of(const json_t *endpoint)
{
	CLEANUP(freep)
	char *addresses = json_dumps(json_object_get(endpoint, "addresses"), JSON_COMPACT);
	return xasprintf("%s %s", api_get_string(endpoint, "targetRef.uid"),
			 addresses != NULL ? addresses : "");
}

static bool same_ports(const json_t *slice, const json_t *group)
{
	const json_t *left = json_object_get(slice, "ports"),
		     *right = json_object_get(group, "ports");
	if (json_array_size(left) == 0 || json_array_size(right) == 0)
		return json_array_size(left) == json_array_size(right);
	return json_equal(left, right);
}

static bool same_type(const json_t *slice, const json_t *group)
{
	return apiserver_is(slice, "addressType", api_get_string(group, "addressType"));
}

/* The endpoints of the group by identity; values are borrowed. */
static void index_group(const json_t *group, struct map *ret)
{
	json_t *endpoint;
	size_t i;
	map_init(ret);
	json_array_foreach (json_object_get(group, "endpoints"), i, endpoint) {
		CLEANUP(freep) char *identity = identity_of(endpoint);
		map_set(ret, slice_of(identity), endpoint);
	}
}

/* Keeps endpoints in their slice and removes them from `wanted`. */
static void keep_endpoints(struct draft *draft, struct map *wanted)
{
	const json_t *endpoint;
	size_t i;
	json_array_foreach (json_object_get(draft->present, "endpoints"), i, endpoint) {
		CLEANUP(freep) char *identity = identity_of(endpoint);
		json_t *now = map_del(wanted, slice_of(identity));
		if (now != NULL)
			json_array_append(draft->endpoints, now);
	}
}

static struct draft *add_draft(struct drafts *drafts, const json_t *present)
{
	assert(drafts->n < drafts->max);
	struct draft *draft = &drafts->v[drafts->n++];
	*draft = (struct draft){ .present = present, .endpoints = json_array() };
	return draft;
}

/* A slice of the group with room, a free slice, or a new one. */
static struct draft *find_room(struct drafts *drafts, const json_t *group)
{
	struct draft *unused = NULL;
	for (size_t i = 0; i < drafts->n; i++) {
		struct draft *draft = &drafts->v[i];
		if (draft->group == group &&
		    json_array_size(draft->endpoints) < APISERVER_SLICE_ENDPOINTS_MAX)
			return draft;
		if (draft->group == NULL && unused == NULL && same_type(draft->present, group))
			unused = draft;
	}
	if (unused == NULL) {
		unused = add_draft(drafts, NULL);
	}
	unused->group = group;
	return unused;
}

static void place_group(struct drafts *drafts, const json_t *group)
{
	struct map wanted;
	const struct map_entry *entry;
	size_t pos = 0;
	index_group(group, &wanted);
	for (size_t i = 0; i < drafts->n; i++) {
		struct draft *draft = &drafts->v[i];
		if (draft->group == group)
			keep_endpoints(draft, &wanted);
	}
	while ((entry = map_next(&wanted, &pos)) != NULL)
		json_array_append(find_room(drafts, group)->endpoints, entry->value);
	map_done(&wanted);
}

static void assign_present(struct drafts *drafts, const json_t *groups)
{
	for (size_t i = 0; i < drafts->n; i++) {
		struct draft *draft = &drafts->v[i];
		const json_t *group;
		size_t k;
		json_array_foreach (groups, k, group) {
			if (same_type(draft->present, group) && same_ports(draft->present, group)) {
				draft->group = group;
				break;
			}
		}
	}
}

/* An address type without endpoints keeps one empty slice, as in a cluster. */
static void keep_empty(struct drafts *drafts, const char *type, const json_t *empty)
{
	struct draft *unused = NULL;
	for (size_t i = 0; i < drafts->n; i++) {
		struct draft *draft = &drafts->v[i];
		const json_t *of = draft->present != NULL ? draft->present : draft->group;
		if (!apiserver_is(of, "addressType", type))
			continue;
		if (json_array_size(draft->endpoints) != 0)
			return;
		if (unused == NULL)
			unused = draft;
	}
	if (unused == NULL) {
		unused = add_draft(drafts, NULL);
	}
	unused->group = empty;
}

static bool is_changed(const struct draft *draft)
{
	const json_t *was = json_object_get(draft->present, "endpoints");
	if (!same_ports(draft->present, draft->group))
		return true;
	if (json_array_size(was) == 0 && json_array_size(draft->endpoints) == 0)
		return false;
	return !json_equal(was, draft->endpoints);
}

static void write_draft(const struct draft *draft, const json_t *empties,
			struct apiserver_endpoints_slices_plan *plan)
{
	bool placeholder = false;
	const json_t *empty;
	size_t i;
	json_array_foreach (empties, i, empty)
		placeholder = placeholder || draft->group == empty;
	if (draft->group == NULL || (json_array_size(draft->endpoints) == 0 && !placeholder)) {
		if (draft->present != NULL)
			json_array_append_new(plan->remove, json_deep_copy(draft->present));
		return;
	}
	if (draft->present == NULL) {
		json_array_append_new(plan->create,
				      json_pack("{sO,sO,sO}", "addressType",
						json_object_get(draft->group, "addressType"),
						"ports", json_object_get(draft->group, "ports"),
						"endpoints", draft->endpoints));
	} else if (is_changed(draft)) {
		json_t *changed = json_deep_copy(draft->present);
		json_object_set(changed, "endpoints", draft->endpoints);
		json_object_set(changed, "ports", json_object_get(draft->group, "ports"));
		json_array_append_new(plan->change, changed);
	}
}

static size_t count_endpoints(const json_t *groups)
{
	const json_t *group;
	size_t i, n = 0;
	json_array_foreach (groups, i, group)
		n += json_array_size(json_object_get(group, "endpoints"));
	return n;
}

void apiserver_endpoints_slices_plan(const json_t *groups, const char *const *types,
				     const json_t *present,
				     struct apiserver_endpoints_slices_plan *ret)
{
	/* At most every endpoint in a slice of its own, and two placeholders. */
	struct drafts drafts = { .max = json_array_size(present) + count_endpoints(groups) + 2 };
	json_t *empties = json_array();
	const json_t *value;
	size_t i;
	*ret = (struct apiserver_endpoints_slices_plan){ json_array(), json_array(), json_array() };
	drafts.v = xcalloc(drafts.max, sizeof(*drafts.v));
	json_array_foreach (present, i, value)
		add_draft(&drafts, value);
	assign_present(&drafts, groups);
	json_array_foreach (groups, i, value)
		place_group(&drafts, value);
	for (; *types != NULL; types++) {
		json_t *empty =
			json_pack("{ss,s[],s[]}", "addressType", *types, "ports", "endpoints");
		json_array_append_new(empties, empty);
		keep_empty(&drafts, *types, empty);
	}
	for (i = 0; i < drafts.n; i++) {
		write_draft(&drafts.v[i], empties, ret);
		json_decref(drafts.v[i].endpoints);
	}
	json_decref(empties);
	free(drafts.v);
}

void apiserver_endpoints_slices_plan_done(struct apiserver_endpoints_slices_plan *plan)
{
	json_decref(plan->change);
	json_decref(plan->create);
	json_decref(plan->remove);
}
