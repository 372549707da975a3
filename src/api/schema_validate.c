/* Walking an object beside its schema. The order of checks is the server's: type, alternatives,
 * text, number, list, enum, object; so is the count of what went well, by which it picks the
 * alternative whose errors are told.
 *
 * On an update, errors of a value that is as it was are dropped: at each member, and at each item
 * of a list of type map. */
#include <stdio.h>
#include <string.h>

#include "api/schema_priv.h"
#include "api/tree.h"

/* ---- places ---- */

void schema_path_cut(struct strbuf *path, size_t n)
{
	path->n = n;
	if (path->cap != 0)
		path->s[n] = '\0';
}

void schema_path_child(struct strbuf *path, const char *key)
{
	strbuf_addf(path, "%s%s", path->n != 0 ? "." : "", key);
}

void schema_path_index(struct strbuf *path, size_t i)
{
	strbuf_addf(path, "[%zu]", i);
}

void schema_path_key(struct strbuf *path, const char *key)
{
	strbuf_addf(path, "[%s]", key);
}

/* ---- what was there before ---- */

static bool same_keys(const struct schema_node *n, const json_t *a, const json_t *b)
{
	for (size_t i = 0; i < n->map_keys.n; i++) {
		const json_t *x = json_object_get(a, n->map_keys.v[i]);
		const json_t *y = json_object_get(b, n->map_keys.v[i]);
		if (x == NULL || y == NULL ? x != y : !json_equal(x, y))
			return false;
	}
	return true;
}

const json_t *schema_same_key(const struct schema_node *n, const json_t *list, const json_t *item)
{
	if (n->list != SCHEMA_LIST_MAP || !json_is_object(item))
		return NULL;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *other = json_array_get(list, i);
		if (json_is_object(other) && same_keys(n, item, other))
			return other;
	}
	return NULL;
}

static bool unchanged_object(const struct schema_node *n, const json_t *a, const json_t *b)
{
	const char *key;
	json_t *value;
	if (json_object_size(a) != json_object_size(b))
		return false;
	json_object_foreach (api_tree(a), key, value) {
		const json_t *other = json_object_get(b, key);
		const struct schema_node *m = schema_member(n, key);
		if (other == NULL || m == NULL || !schema_unchanged(m, value, other))
			return false;
	}
	return true;
}

static bool unchanged_map(const struct schema_node *n, const json_t *a, const json_t *b)
{
	size_t i;
	json_t *item;
	if (json_array_size(a) != json_array_size(b))
		return false;
	json_array_foreach (a, i, item) {
		const json_t *other = schema_same_key(n, b, item);
		if (other == NULL || !schema_unchanged(n->items, item, other))
			return false;
	}
	return true;
}

bool schema_unchanged(const struct schema_node *n, const json_t *a, const json_t *b)
{
	if (json_is_object(a) && json_is_object(b))
		return unchanged_object(n, a, b);
	if (json_is_array(a) && json_is_array(b) && n->list == SCHEMA_LIST_MAP && n->items != NULL)
		return unchanged_map(n, a, b);
	return json_equal(a, b) != 0;
}

/* ---- the walk ---- */

static void check(const struct schema_node *n, struct schema_walk *w, const json_t *v,
		  const json_t *old, struct schema_result *r);

/* A member or item, whose errors do not count if it is as it was. */
static void check_below(const struct schema_node *n, struct schema_walk *w, const json_t *v,
			const json_t *old, struct schema_result *r)
{
	struct schema_result here = { 0 };
	check(n, w, v, old, &here);
	if (here.errs.n != 0 && old != NULL && schema_unchanged(n, v, old)) {
		r->matches += here.matches;
		schema_result_done(&here);
		return;
	}
	schema_result_merge(r, &here);
}

/* ---- alternatives ---- */

/* Looks at one alternative; true when it fits. */
static bool try_one(const struct schema_node *n, struct schema_walk *w, const json_t *v,
		    const json_t *old, struct schema_result *ret)
{
	*ret = (struct schema_result){ 0 };
	check(n, w, v, old, ret);
	return ret->errs.n == 0;
}

/* Takes `r` over if it is better than the best so far. */
static void keep_better(struct schema_result *best, bool *have, struct schema_result *r)
{
	if (!*have || r->matches > best->matches) {
		if (*have)
			schema_result_done(best);
		*best = *r;
		*have = true;
	} else {
		schema_result_done(r);
	}
}

static void check_any_of(const struct schema_node *n, struct schema_walk *w, const json_t *v,
			 const json_t *old, struct schema_result *r)
{
	struct schema_result best = { 0 }, one;
	bool have = false;
	for (size_t i = 0; i < n->any_of.n; i++) {
		if (try_one(n->any_of.v[i], w, v, old, &one)) {
			r->matches += one.matches;
			schema_result_done(&one);
			schema_result_done(&best);
			return;
		}
		keep_better(&best, &have, &one);
	}
	if (n->any_of.n != 0)
		schema_fail_whole(r, w, "\"%s\" must validate at least one schema (anyOf)",
				  w->path.s);
	schema_result_merge(r, &best);
}

static void check_one_of(const struct schema_node *n, struct schema_walk *w, const json_t *v,
			 const json_t *old, struct schema_result *r)
{
	struct schema_result best = { 0 }, one;
	bool have = false;
	unsigned fits = 0, matches = 0;
	for (size_t i = 0; i < n->one_of.n; i++) {
		if (!try_one(n->one_of.v[i], w, v, old, &one)) {
			if (fits == 0)
				keep_better(&best, &have, &one);
			else
				schema_result_done(&one);
			continue;
		}
		if (fits++ == 0)
			matches = one.matches;
		schema_result_done(&one);
	}
	if (fits != 1 && n->one_of.n != 0) {
		char found[64] = "Found none valid";
		if (fits != 0)
			snprintf(found, sizeof(found), "Found %u valid alternatives", fits);
		schema_fail_whole(r, w, "\"%s\" must validate one and only one schema (oneOf). %s",
				  w->path.s, found);
	}
	if (fits == 0)
		schema_result_merge(r, &best);
	else if (fits == 1)
		r->matches += matches;
	schema_result_done(&best);
}

static void check_all_of(const struct schema_node *n, struct schema_walk *w, const json_t *v,
			 const json_t *old, struct schema_result *r)
{
	size_t fits = 0;
	for (size_t i = 0; i < n->all_of.n; i++) {
		struct schema_result one;
		fits += try_one(n->all_of.v[i], w, v, old, &one);
		schema_result_merge(r, &one);
	}
	if (fits != n->all_of.n)
		schema_fail_whole(r, w, "\"%s\" must validate all the schemas (allOf)%s", w->path.s,
				  fits == 0 ? ". None validated" : "");
}

static void check_not(const struct schema_node *n, struct schema_walk *w, const json_t *v,
		      const json_t *old, struct schema_result *r)
{
	struct schema_result one;
	if (n->not_ == NULL)
		return;
	if (try_one(n->not_, w, v, old, &one))
		schema_fail_whole(r, w, "\"%s\" must not validate the schema (not)", w->path.s);
	schema_result_done(&one);
}

/* ---- lists and objects ---- */

static void check_array(const struct schema_node *n, struct schema_walk *w, const json_t *v,
			const json_t *old, struct schema_result *r)
{
	long long size = (long long)json_array_size(v);
	char number[24];
	size_t at = w->path.n, i;
	json_t *item;
	snprintf(number, sizeof(number), "%lld", size);
	if (n->items != NULL) {
		json_array_foreach (v, i, item) {
			const json_t *was = schema_same_key(n, old, item);
			schema_path_index(&w->path, i);
			check_below(n->items, w, item, was, r);
			schema_path_cut(&w->path, at);
		}
	}
	if (size < n->min_items)
		schema_fail(r, w, API_FIELD_INVALID, number, "should have at least %lld items",
			    (long long)n->min_items);
	if (n->max_items >= 0 && size > n->max_items)
		schema_fail(r, w, API_FIELD_TOO_MANY, number, "must have at most %lld item%s",
			    (long long)n->max_items, n->max_items == 1 ? "" : "s");
	r->matches++;
}

static void check_size(const struct schema_node *n, const struct schema_walk *w, const json_t *v,
		       struct schema_result *r)
{
	long long size = (long long)json_object_size(v);
	char number[24];
	snprintf(number, sizeof(number), "%lld", size);
	if (size < n->min_properties)
		schema_fail(r, w, API_FIELD_INVALID, number, "should have at least %lld properties",
			    (long long)n->min_properties);
	if (n->max_properties >= 0 && size > n->max_properties)
		schema_fail(r, w, API_FIELD_TOO_MANY, number, "must have at most %lld item%s",
			    (long long)n->max_properties, n->max_properties == 1 ? "" : "s");
}

static void check_member(const struct schema_node *n, struct schema_walk *w, const char *key,
			 const json_t *v, const json_t *old, struct schema_result *r)
{
	size_t at = w->path.n;
	const json_t *was = json_object_get(old, key);
	/* Both are of one version by now, so what they were written in cannot be told. */
	if (at == 0 && (strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0))
		was = NULL;
	schema_path_child(&w->path, key);
	check_below(n, w, v, was, r);
	schema_path_cut(&w->path, at);
}

static void check_object(const struct schema_node *n, struct schema_walk *w, const json_t *v,
			 const json_t *old, struct schema_result *r)
{
	const char *key;
	json_t *value;
	size_t pos = 0, at = w->path.n;
	check_size(n, w, v, r);
	if (n->additional != NULL) {
		json_object_foreach (api_tree(v), key, value) {
			if (schema_property(n, key) == NULL)
				check_member(n->additional, w, key, value, old, r);
		}
	}
	for (const struct map_entry *e; (e = map_next(&n->properties, &pos)) != NULL;) {
		value = json_object_get(v, e->key);
		if (value != NULL)
			check_member(e->value, w, e->key, value, old, r);
	}
	for (size_t i = 0; i < n->required.n; i++) {
		if (json_object_get(v, n->required.v[i]) != NULL)
			continue;
		schema_path_child(&w->path, n->required.v[i]);
		schema_fail(r, w, API_FIELD_REQUIRED, NULL, "%s", "");
		schema_path_cut(&w->path, at);
	}
}

static void check(const struct schema_node *n, struct schema_walk *w, const json_t *v,
		  const json_t *old, struct schema_result *r)
{
	if (json_is_null(v)) {
		schema_check_type(n, w, v, r);
		schema_check_enum(n, w, v, r);
		return;
	}
	if (n->type != SCHEMA_ANY || n->int_or_string || n->format != NULL) {
		schema_check_type(n, w, v, r);
		r->matches++;
	}
	check_any_of(n, w, v, old, r);
	check_one_of(n, w, v, old, r);
	check_all_of(n, w, v, old, r);
	check_not(n, w, v, old, r);
	if (json_is_string(v))
		schema_check_string(n, w, v, r);
	if (json_is_number(v))
		schema_check_number(n, w, v, r);
	if (json_is_array(v))
		check_array(n, w, v, old, r);
	schema_check_enum(n, w, v, r);
	if (json_is_object(v))
		check_object(n, w, v, old, r);
	/* Alternatives (twice), enum, the whole; and the list or object. */
	r->matches += json_is_array(v) || json_is_object(v) ? 5 : 4;
}

void schema_validate_values(const struct schema_node *n, const json_t *o, const json_t *old,
			    const char *under, struct api_errors *errs)
{
	struct schema_walk w = { regex_scratch_new(0), STRBUF_INIT, under };
	struct schema_result r = { 0 };
	check_below(n, &w, o, old, &r);
	api_errors_move(errs, &r.errs);
	schema_result_done(&r);
	regex_scratch_free(w.scratch);
	strbuf_done(&w.path);
}

/* Lists, which are not blamed on an update if they were wrong before, and rules. */
static void validate_rest(const struct api_schema *s, const json_t *o, const json_t *old,
			  struct api_errors *errs)
{
	struct api_errors before = { 0 };
	if (old != NULL)
		schema_validate_lists(s, old, &before);
	if (before.n == 0)
		schema_validate_lists(s, o, errs);
	api_errors_done(&before);
	schema_validate_rules(s, o, old, errs);
}

void api_schema_validate(const struct api_schema *s, const json_t *o, const json_t *old,
			 struct api_errors *errs)
{
	schema_validate_values(s->root, o, old, "", errs);
	schema_validate_embedded(s, o, errs);
	validate_rest(s, o, old, errs);
}

void api_schema_validate_status(const struct api_schema *s, const json_t *o, const json_t *old,
				struct api_errors *errs)
{
	const struct schema_node *n = schema_property(s->root, "status");
	const json_t *status = json_object_get(o, "status");
	if (n != NULL && status != NULL)
		schema_validate_values(n, status, json_object_get(old, "status"), "status", errs);
	validate_rest(s, o, old, errs);
}
