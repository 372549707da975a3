/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merges an applied configuration into an object, and removes fields from it. */
#include "api/apply/merge_priv.h"

#include <stdlib.h>

#include "api/apply/item_priv.h"
#include "api/tree.h"
#include "base/mem.h"

static json_t *merge_values(struct managed_type type, const json_t *live, const json_t *config);

static json_t *config_first(const json_t *live, const json_t *config)
{
	return json_incref(api_tree(config != NULL ? config : live));
}

static json_t *merge_map(const struct managed_atom *atom, const json_t *live, const json_t *config)
{
	const char *k;
	json_t *v;
	const json_t *x = json_is_object(live) ? live : NULL;
	const json_t *y = json_is_object(config) ? config : NULL;
	if (atom->map_atomic || (json_object_size(x) == 0 && json_object_size(y) == 0))
		return config_first(live, config);
	json_t *out = json_object();
	json_object_foreach (api_tree(x), k, v) {
		struct managed_type t;
		managed_type_field(atom, k, &t, NULL);
		json_t *m = merge_values(t, v, json_object_get(y, k));
		if (m != NULL)
			json_object_set_new(out, k, m);
	}
	json_object_foreach (api_tree(y), k, v) {
		struct managed_type t;
		if (json_object_get(x, k) != NULL)
			continue;
		managed_type_field(atom, k, &t, NULL);
		json_t *m = merge_values(t, NULL, v);
		if (m != NULL)
			json_object_set_new(out, k, m);
	}
	if (json_object_size(out) > 0)
		return out;
	json_decref(out);
	return NULL;
}

/* Two lists being merged. */
struct lists {
	const struct managed_atom *a;
	struct managed_items live, config;
	bool *merged;	/* items of config that are in the result already, by place */
	size_t *shared; /* items of config that live has too, in config's order, by place */
	size_t n_shared, next_shared;
	json_t *out;
};

static void append_merged(struct lists *lists, const json_t *live, const json_t *config)
{
	json_t *m = merge_values(managed_type_items(lists->a), live, config);
	if (m != NULL)
		json_array_append_new(lists->out, m);
}

/* Config's item with what live has of it. Where live has it twice, config's alone counts. */
static void append_config(struct lists *lists, size_t at)
{
	const struct managed_item *c = &lists->config.v[at];
	const struct managed_item *x = managed_items_find(&lists->live, c->el);
	lists->merged[at] = true;
	append_merged(lists, x != NULL && !x->twice ? x->value : NULL, c->value);
	if (lists->next_shared < lists->n_shared && lists->shared[lists->next_shared] == at)
		lists->next_shared++;
}

/* One step: both lists keep their order; where they differ on what they share, config's wins, and
 * what only live has stays where it stood among its neighbours. */
static void merge_step(struct lists *lists, size_t *left, size_t *right)
{
	const struct managed_item *x = *left < lists->live.n ? &lists->live.v[*left] : NULL;
	const struct managed_item *y = *right < lists->config.n ? &lists->config.v[*right] : NULL;
	const struct managed_item *same =
		x != NULL ? managed_items_find(&lists->config, x->el) : NULL;
	size_t at = same != NULL ? (size_t)(same - lists->config.v) : 0;
	if (same != NULL && y != NULL) {
		if (at == *right) {
			append_config(lists, (*right)++);
			(*left)++;
			return;
		}
		if (lists->next_shared < lists->n_shared &&
		    lists->shared[lists->next_shared] != at) {
			(*left)++;
			return;
		}
	}
	if (x != NULL && same == NULL) {
		append_merged(lists, x->value, NULL);
		(*left)++;
		return;
	}
	if (x != NULL && lists->merged[at])
		(*left)++;
	if (y != NULL)
		append_config(lists, (*right)++);
}

static json_t *merge_list(const struct managed_atom *atom, const json_t *live, const json_t *config)
{
	const json_t *x = json_is_array(live) ? live : NULL;
	const json_t *y = json_is_array(config) ? config : NULL;
	if (atom->list_atomic || (json_array_size(x) == 0 && json_array_size(y) == 0))
		return config_first(live, config);
	struct lists l = { .a = atom, .out = json_array() };
	managed_items_init(&l.live, atom, x);
	managed_items_init(&l.config, atom, y);
	l.merged = xcalloc(l.config.n + 1, sizeof(*l.merged));
	l.shared = xcalloc(l.config.n + 1, sizeof(*l.shared));
	for (size_t k = 0; k < l.config.n; k++) {
		if (managed_items_find(&l.live, l.config.v[k].el) != NULL)
			l.shared[l.n_shared++] = k;
	}
	for (size_t i = 0, j = 0; i < l.live.n || j < l.config.n;)
		merge_step(&l, &i, &j);
	managed_items_done(&l.live);
	managed_items_done(&l.config);
	free(l.merged);
	free(l.shared);
	if (json_array_size(l.out) > 0)
		return l.out;
	json_decref(l.out);
	return NULL;
}

static json_t *merge_values(struct managed_type type, const json_t *live, const json_t *config)
{
	struct managed_atom a =
		managed_type_deduce(managed_type_resolve(type), config != NULL ? config : live);
	if (a.map)
		return merge_map(&a, live, config);
	if (a.scalar != MANAGED_SCALAR_NONE || !a.list)
		return config_first(live, config);
	return merge_list(&a, live, config);
}

json_t *managed_merge(struct managed_type type, const json_t *live, const json_t *config)
{
	json_t *out = merge_values(type, live, config);
	return out != NULL ? out : json_object();
}

/* ---- removal ---- */

static json_t *remove_items(struct managed_type type, const json_t *value,
			    const struct fieldset *set);

static json_t *remove_from_map(const struct managed_atom *atom, const json_t *map,
			       const struct fieldset *set)
{
	const char *k;
	json_t *v;
	json_t *out = json_object();
	json_object_foreach (api_tree(map), k, v) {
		struct managed_type t;
		struct fieldset_el *e = fieldset_el_name(k);
		const struct fieldset_node *node = fieldset_find(set, e);
		fieldset_el_unref(e);
		if (node != NULL && node->member)
			continue;
		managed_type_field(atom, k, &t, NULL);
		json_object_set_new(out, k,
				    node != NULL ? remove_items(t, v, node->sub) : json_incref(v));
	}
	if (json_object_size(out) > 0)
		return out;
	json_decref(out);
	return json_null();
}

static json_t *remove_from_list(const struct managed_atom *atom, const json_t *list,
				const struct fieldset *set)
{
	CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
	size_t i;
	json_t *item;
	json_t *out = json_array();
	json_array_foreach (list, i, item) {
		struct fieldset_el *e = NULL;
		const struct fieldset_node *node = NULL;
		if (managed_item_element(atom, item, &e, &err) == 0)
			node = fieldset_find(set, e);
		fieldset_el_unref(e);
		if (node != NULL && node->member)
			continue;
		json_array_append_new(
			out, node != NULL ? remove_items(managed_type_items(atom), item, node->sub)
					  : json_incref(item));
	}
	if (json_array_size(out) > 0)
		return out;
	json_decref(out);
	return json_null();
}

static json_t *remove_items(struct managed_type type, const json_t *value,
			    const struct fieldset *set)
{
	struct managed_atom a = managed_type_deduce(managed_type_resolve(type), value);
	if (a.map) {
		bool gone = !json_is_object(value) || json_object_size(value) == 0 || a.map_atomic;
		return gone ? json_null() : remove_from_map(&a, value, set);
	}
	if (a.scalar != MANAGED_SCALAR_NONE)
		return json_incref(api_tree(value));
	bool gone = !json_is_array(value) || json_array_size(value) == 0 || a.list_atomic;
	return gone ? json_null() : remove_from_list(&a, value, set);
}

json_t *managed_remove(struct managed_type type, const json_t *value, struct fieldset *set)
{
	json_t *out = remove_items(type, value, set);
	if (json_is_object(out))
		return out;
	json_decref(out);
	return json_object();
}
