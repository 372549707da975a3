/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Validates an object by walking it along its schema. The order of checks is the API server's:
 * type, alternatives, string, number, list, enum, object; so is the count of successful checks,
 * by which it picks the alternative whose errors are reported.
 *
 * On an update, errors in values that did not change are dropped (validation ratcheting), for
 * each member and for each item of a list of type map. */
#include "api/schema/validate.h"

#include <stdio.h>
#include <string.h>

#include "api/schema/list_priv.h"
#include "api/schema/node_priv.h"
#include "api/schema/result_priv.h"
#include "api/schema/rule_priv.h"
#include "api/schema/scalar_priv.h"
#include "api/schema/unchanged_priv.h"
#include "api/tree.h"

static void check_node(const struct schema_node *node, struct schema_walk *walk,
		       const json_t *value, const json_t *old, struct schema_result *result);

/* A member or item, whose errors do not count if it is as it was. */
static void check_child(const struct schema_node *node, struct schema_walk *walk,
			const json_t *value, const json_t *old, struct schema_result *result)
{
	struct schema_result here = { 0 };
	if (old == NULL) {
		check_node(node, walk, value, NULL, result);
		return; /* all of its errors count */
	}
	check_node(node, walk, value, old, &here);
	if (here.errs.n != 0 && schema_unchanged(node, value, old)) {
		result->n_passed += here.n_passed;
		schema_result_done(&here);
		return;
	}
	schema_result_merge(result, &here);
}

/* ---- alternatives ---- */

/* Validates against one alternative; true when there are no errors. */
static bool matches_schema(const struct schema_node *node, struct schema_walk *walk,
			   const json_t *value, const json_t *old, struct schema_result *ret)
{
	*ret = (struct schema_result){ 0 };
	walk->alternatives++;
	check_node(node, walk, value, old, ret);
	walk->alternatives--;
	return ret->errs.n == 0;
}

/* Takes `result` over if it is better than the best so far. */
static void keep_best(struct schema_result *best, bool *have, struct schema_result *result)
{
	if (!*have || result->n_passed > best->n_passed) {
		if (*have)
			schema_result_done(best);
		*best = *result;
		*have = true;
	} else {
		schema_result_done(result);
	}
}

/* An error of alternatives: the value's path in quotes, then the text. */
static void add_mismatch(const struct schema_walk *walk, struct schema_result *result,
			 const char *text)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	schema_walk_path(walk, &path);
	schema_result_add_global(result, walk, "\"%s\" %s", path.s, text);
}

static void check_any_of(const struct schema_node *node, struct schema_walk *walk,
			 const json_t *value, const json_t *old, struct schema_result *result)
{
	struct schema_result best = { 0 }, one;
	bool have = false;
	for (size_t i = 0; i < node->any_of.n; i++) {
		if (matches_schema(node->any_of.v[i], walk, value, old, &one)) {
			result->n_passed += one.n_passed;
			schema_result_done(&one);
			schema_result_done(&best);
			return;
		}
		keep_best(&best, &have, &one);
	}
	if (node->any_of.n != 0)
		add_mismatch(walk, result, "must validate at least one schema (anyOf)");
	schema_result_merge(result, &best);
}

static void check_one_of(const struct schema_node *node, struct schema_walk *walk,
			 const json_t *value, const json_t *old, struct schema_result *result)
{
	struct schema_result best = { 0 }, one;
	bool have = false;
	unsigned fits = 0, n_passed = 0;
	for (size_t i = 0; i < node->one_of.n; i++) {
		if (!matches_schema(node->one_of.v[i], walk, value, old, &one)) {
			if (fits == 0)
				keep_best(&best, &have, &one);
			else
				schema_result_done(&one);
			continue;
		}
		if (fits++ == 0)
			n_passed = one.n_passed;
		schema_result_done(&one);
	}
	if (fits != 1 && node->one_of.n != 0) {
		char found[32] = "none valid", text[96];
		if (fits != 0)
			snprintf(found, sizeof(found), "%u valid alternatives", fits);
		snprintf(text, sizeof(text),
			 "must validate one and only one schema (oneOf). Found %s", found);
		add_mismatch(walk, result, text);
	}
	if (fits == 0)
		schema_result_merge(result, &best);
	else if (fits == 1)
		result->n_passed += n_passed;
	schema_result_done(&best);
}

static void check_all_of(const struct schema_node *node, struct schema_walk *walk,
			 const json_t *value, const json_t *old, struct schema_result *result)
{
	size_t fits = 0;
	for (size_t i = 0; i < node->all_of.n; i++) {
		struct schema_result one;
		fits += matches_schema(node->all_of.v[i], walk, value, old, &one);
		schema_result_merge(result, &one);
	}
	if (fits != node->all_of.n)
		add_mismatch(walk, result,
			     fits == 0 ? "must validate all the schemas (allOf). None validated"
				       : "must validate all the schemas (allOf)");
}

static void check_not(const struct schema_node *node, struct schema_walk *walk, const json_t *value,
		      const json_t *old, struct schema_result *result)
{
	struct schema_result one;
	if (node->not_ == NULL)
		return;
	if (matches_schema(node->not_, walk, value, old, &one))
		add_mismatch(walk, result, "must not validate the schema (not)");
	schema_result_done(&one);
}

/* ---- lists and objects ---- */

/* Of a list's items or an object's members. */
struct count {
	long long n, min, max; /* a negative max: any number */
	const char *what;
};

static void check_count(const struct count *count, const struct schema_walk *walk,
			struct schema_result *result)
{
	char number[24];
	if (count->n >= count->min && (count->max < 0 || count->n <= count->max))
		return;
	snprintf(number, sizeof(number), "%lld", count->n);
	if (count->n < count->min)
		schema_result_add(result, walk, API_FIELD_INVALID, number,
				  "should have at least %lld %s", count->min, count->what);
	if (count->max >= 0 && count->n > count->max)
		schema_result_add(result, walk, API_FIELD_TOO_MANY, number,
				  "must have at most %lld item%s", count->max,
				  count->max == 1 ? "" : "s");
}

static void check_array(const struct schema_node *node, struct schema_walk *walk,
			const json_t *value, const json_t *old, struct schema_result *result)
{
	long long size = (long long)json_array_size(value);
	struct schema_place place = { .around = walk->place };
	json_t *item;
	walk->place = &place;
	if (node->items != NULL) {
		json_array_foreach (value, place.index, item) {
			const json_t *was = schema_find_item(node, old, item);
			check_child(node->items, walk, item, was, result);
		}
	}
	walk->place = place.around;
	check_count(&(struct count){ .n = size,
				     .min = node->min_items,
				     .max = node->max_items,
				     .what = "items" },
		    walk, result);
	result->n_passed++;
}

static void check_member(const struct schema_node *node, struct schema_walk *walk, const char *key,
			 const json_t *value, const json_t *old, struct schema_result *result)
{
	const struct schema_place place = { .around = walk->place, .key = key };
	const bool at_top = walk->place == NULL;
	const json_t *was = old != NULL ? json_object_get(old, key) : NULL;
	/* Both are of one version by now, so their original versions are not known. */
	if (at_top && was != NULL && (strcmp(key, "apiVersion") == 0 || strcmp(key, "kind") == 0))
		was = NULL;
	/* Errors in unchanged values are dropped, so the walk can be skipped; alternatives need its
	 * count. */
	if (at_top && was != NULL && walk->alternatives == 0 && schema_unchanged(node, value, was))
		return;
	walk->place = &place;
	check_child(node, walk, value, was, result);
	walk->place = place.around;
}

static void check_required(const struct schema_node *node, struct schema_walk *walk,
			   const json_t *object, struct schema_result *result)
{
	for (size_t i = 0; i < node->required.n; i++) {
		const struct schema_place place = { .around = walk->place,
						    .key = node->required.v[i] };
		if (json_object_get(object, place.key) != NULL)
			continue;
		walk->place = &place;
		schema_result_add(result, walk, API_FIELD_REQUIRED, NULL, "%s", "");
		walk->place = place.around;
	}
}

static void check_object(const struct schema_node *node, struct schema_walk *walk,
			 const json_t *val, const json_t *old, struct schema_result *result)
{
	const char *key;
	json_t *value;
	size_t pos = 0, n_required = 0;
	check_count(&(struct count){ .n = (long long)json_object_size(val),
				     .min = node->min_properties,
				     .max = node->max_properties,
				     .what = "properties" },
		    walk, result);
	if (node->additional != NULL) {
		json_object_foreach (api_tree(val), key, value) {
			if (schema_node_property(node, key) == NULL)
				check_member(node->additional, walk, key, value, old, result);
		}
	}
	for (const struct map_entry *e; (e = map_next(&node->properties, &pos)) != NULL;) {
		const struct schema_node *property = e->value;
		value = json_object_getn(val, e->key, e->key_n);
		if (value == NULL)
			continue;
		n_required += property->is_required;
		check_member(property, walk, e->key, value, old, result);
	}
	/* Names that are no properties, or are listed twice, are not counted and need the check, too. */
	if (n_required != node->required.n)
		check_required(node, walk, val, result);
}

static void check_alternatives(const struct schema_node *node, struct schema_walk *walk,
			       const json_t *value, const json_t *old, struct schema_result *result)
{
	check_any_of(node, walk, value, old, result);
	check_one_of(node, walk, value, old, result);
	check_all_of(node, walk, value, old, result);
	check_not(node, walk, value, old, result);
}

static void check_node(const struct schema_node *node, struct schema_walk *walk,
		       const json_t *value, const json_t *old, struct schema_result *result)
{
	if (json_is_null(value)) {
		schema_check_type(node, walk, value, result);
		schema_check_enum(node, walk, value, result);
		return;
	}
	if (node->type != SCHEMA_ANY || node->int_or_string || node->format != NULL) {
		schema_check_type(node, walk, value, result);
		result->n_passed++;
	}
	if (node->has_alternatives)
		check_alternatives(node, walk, value, old, result);
	if (json_is_string(value))
		schema_check_string(node, walk, value, result);
	if (json_is_number(value))
		schema_check_number(node, walk, value, result);
	if (json_is_array(value))
		check_array(node, walk, value, old, result);
	if (node->enums != NULL)
		schema_check_enum(node, walk, value, result);
	if (json_is_object(value))
		check_object(node, walk, value, old, result);
	/* Alternatives (twice), enum, the whole; and the list or object. */
	result->n_passed += json_is_array(value) || json_is_object(value) ? 5 : 4;
}

static void validate_values(const struct schema_node *node, const json_t *object, const json_t *old,
			    const char *under, struct api_errors *errs)
{
	struct schema_walk w = { .scratch = regex_scratch_of_thread(), .under = under };
	struct schema_result r = { 0 };
	check_child(node, &w, object, old, &r);
	api_errors_move(errs, &r.errs);
	schema_result_done(&r);
}

/* Lists, which are not blamed on an update if they were wrong before, and rules. The old object is
 * checked only if that can matter. */
static void validate_lists_and_rules(const struct api_schema *schema, const json_t *object,
				     const json_t *old, struct api_errors *errs)
{
	struct api_errors now = { 0 }, before = { 0 };
	schema_validate_lists(schema, object, &now);
	if (now.n != 0 && old != NULL)
		schema_validate_lists(schema, old, &before);
	if (before.n == 0)
		api_errors_move(errs, &now);
	api_errors_done(&now);
	api_errors_done(&before);
	schema_validate_rules(schema, object, old, errs);
}

void api_schema_validate(const struct api_schema *schema, const json_t *object, const json_t *old,
			 struct api_errors *errs)
{
	validate_values(schema->root, object, old, "", errs);
	schema_validate_embedded(schema, object, errs);
	validate_lists_and_rules(schema, object, old, errs);
}

void api_schema_validate_status(const struct api_schema *schema, const json_t *object,
				const json_t *old, struct api_errors *errs)
{
	const struct schema_node *n = schema_node_property(schema->root, "status");
	const json_t *status = json_object_get(object, "status");
	if (n != NULL && status != NULL)
		validate_values(n, status, json_object_get(old, "status"), "status", errs);
	validate_lists_and_rules(schema, object, old, errs);
}
