/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ConfigMap's list of policies: YAML or JSON, which namespaces an entry is for. */
#include "controller/poddns/policy_priv.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/selector.h"
#include "api/tree.h"
#include "api/yaml/yaml.h"
#include "base/mem.h"
#include "base/vec.h"

struct entry {
	const char **names;
	size_t n_names;
	bool has_selector;
	struct api_selector selector;
	struct poddns_policy policy;
};

struct poddns_entries {
	atomic_uint references;
	struct arena arena;
	VEC(struct entry) list;
	struct poddns_problems problems;
};

/* ---- which namespaces ---- */

static bool read_texts(const json_t *list, struct arena *arena, const char ***ret,
		       size_t *ret_count)
{
	size_t i, count = json_array_size(list);
	json_t *item;
	const char **texts = arena_alloc(arena, (count + 1) * sizeof(*texts));
	if (!json_is_array(list))
		return false;
	json_array_foreach (list, i, item) {
		if (!json_is_string(item))
			return false;
		texts[i] = arena_strdup(arena, api_text(item));
	}
	*ret = texts;
	*ret_count = count;
	return true;
}

static bool read_expression(const json_t *expression, struct arena *arena,
			    struct api_selector_term *ret)
{
	static const struct {
		const char *word;
		enum api_selector_op op;
		bool has_values;
	} rows[] = { { "In", API_SEL_IN, true },
		     { "NotIn", API_SEL_NOT_IN, true },
		     { "Exists", API_SEL_EXISTS, false },
		     { "DoesNotExist", API_SEL_MISSING, false } };
	const json_t *values = json_object_get(expression, "values");
	const char *key = api_get_string(expression, "key");
	*ret = (struct api_selector_term){ .key = arena_strdup(arena, key) };
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strcmp(rows[i].word, api_get_string(expression, "operator")) != 0)
			continue;
		ret->op = rows[i].op;
		if (key[0] == '\0' || rows[i].has_values != (json_array_size(values) != 0))
			return false;
		return !rows[i].has_values ||
		       read_texts(values, arena, &ret->value, &ret->n_values);
	}
	return false;
}

static bool read_label(const char *key, const json_t *value, struct arena *arena,
		       struct api_selector_term *ret)
{
	const char **one = arena_alloc(arena, sizeof(*one));
	one[0] = arena_strdup(arena, api_text(value));
	*ret = (struct api_selector_term){
		.key = arena_strdup(arena, key), .op = API_SEL_IN, .value = one, .n_values = 1
	};
	return json_is_string(value);
}

static bool read_selector(const json_t *selector, struct arena *arena, struct api_selector *ret)
{
	json_t *labels = json_object_get(selector, "matchLabels"), *value;
	const json_t *expressions = json_object_get(selector, "matchExpressions");
	size_t i, room = json_object_size(labels) + json_array_size(expressions);
	const char *key;
	if (!json_is_object(selector) || room > API_SELECTOR_TERMS_MAX ||
	    (labels != NULL && !json_is_object(labels)) ||
	    (expressions != NULL && !json_is_array(expressions)) ||
	    json_object_size(selector) != (size_t)(labels != NULL) + (expressions != NULL))
		return false;
	*ret = (struct api_selector){ arena_alloc(arena, (room + 1) * sizeof(*ret->term)), 0 };
	json_object_foreach (labels, key, value) {
		if (!read_label(key, value, arena, &ret->term[ret->n++]))
			return false;
	}
	json_array_foreach (expressions, i, value) {
		if (!read_expression(value, arena, &ret->term[ret->n++]))
			return false;
	}
	return true;
}

static bool names_match(const struct entry *entry, const char *name)
{
	for (size_t i = 0; i < entry->n_names; i++) {
		if (strcmp(entry->names[i], name) == 0)
			return true;
	}
	return false;
}

static bool entry_matches(const struct entry *entry, const json_t *ns)
{
	return names_match(entry, api_name(ns)) ||
	       (entry->has_selector &&
		api_label_selector_match(&entry->selector, api_get(ns, "metadata.labels")));
}

/* ---- one entry ---- */

static bool read_namespaces(const json_t *object, const char *path, struct arena *arena,
			    struct entry *ret, struct poddns_problems *problems)
{
	const json_t *names = json_object_get(object, "namespaces");
	const json_t *selector = json_object_get(object, "namespaceSelector");
	if (names != NULL && !read_texts(names, arena, &ret->names, &ret->n_names)) {
		poddns_problems_add(problems, arena, arena_printf(arena, "%s.namespaces", path),
				    "expected a list of names");
		return false;
	}
	if (selector != NULL && !read_selector(selector, arena, &ret->selector)) {
		poddns_problems_add(problems, arena,
				    arena_printf(arena, "%s.namespaceSelector", path),
				    "expected a label selector (matchLabels, matchExpressions)");
		return false;
	}
	ret->has_selector = selector != NULL;
	if (names != NULL || selector != NULL)
		return true;
	poddns_problems_add(problems, arena, path, "has neither namespaces nor namespaceSelector");
	return false;
}

static bool check_members(json_t *object, const char *path, struct arena *arena,
			  struct poddns_problems *problems)
{
	const char *key;
	json_t *value;
	if (!json_is_object(object)) {
		poddns_problems_add(problems, arena, path, "expected an object");
		return false;
	}
	json_object_foreach (object, key, value) {
		if (strcmp(key, "namespaces") == 0 || strcmp(key, "namespaceSelector") == 0 ||
		    poddns_field_is_known(key))
			continue;
		poddns_problems_add(problems, arena, arena_printf(arena, "%s.%.64s", path, key),
				    "unknown field");
		return false;
	}
	return true;
}

static void read_entry(struct poddns_entries *entries, json_t *object, size_t index)
{
	struct arena *arena = &entries->arena;
	struct entry entry = { .policy = { .profile = PODRESOLV_KUBELET } };
	const char *path = arena_printf(arena, PODDNS_CONFIGMAP_KEY "[%zu]", index);
	if (check_members(object, path, arena, &entries->problems) &&
	    read_namespaces(object, path, arena, &entry, &entries->problems) &&
	    poddns_fields_read(object, path, arena, &entry.policy, &entries->problems))
		vec_push(&entries->list, entry);
}

/* ---- all ---- */

struct poddns_entries *poddns_entries_parse(struct slice text)
{
	struct poddns_entries *entries = xcalloc(1, sizeof(*entries));
	struct srcerr err;
	json_t *tree = NULL, *item;
	size_t i;
	entries->references = 1;
	arena_init(&entries->arena);
	if (api_yaml_parse_one(PODDNS_CONFIGMAP_KEY, text, &tree, &err) < 0) {
		poddns_problems_add(&entries->problems, &entries->arena,
				    arena_printf(&entries->arena, PODDNS_CONFIGMAP_KEY ":%u:%u",
						 err.pos.line, err.pos.col),
				    err.text);
		return entries;
	}
	if (!json_is_array(tree) || json_array_size(tree) > PODDNS_ENTRIES_MAX)
		poddns_problems_add(&entries->problems, &entries->arena, PODDNS_CONFIGMAP_KEY,
				    json_is_array(tree) ? "more than 1000 entries"
							: "expected a list of policies");
	else
		json_array_foreach (tree, i, item)
			read_entry(entries, item, i);
	json_decref(tree);
	return entries;
}

struct poddns_entries *poddns_entries_ref(struct poddns_entries *entries)
{
	if (entries != NULL)
		atomic_fetch_add(&entries->references, 1);
	return entries;
}

void poddns_entries_unref(struct poddns_entries *entries)
{
	if (entries == NULL || atomic_fetch_sub(&entries->references, 1) != 1)
		return;
	vec_done(&entries->list);
	arena_done(&entries->arena);
	free(entries);
}

const struct poddns_problems *poddns_entries_problems(const struct poddns_entries *entries)
{
	return &entries->problems;
}

const struct poddns_policy *poddns_entries_next(const struct poddns_entries *entries,
						const json_t *ns, size_t *pos)
{
	while (*pos < entries->list.n) {
		const struct entry *entry = &entries->list.v[(*pos)++];
		if (entry_matches(entry, ns))
			return &entry->policy;
	}
	return NULL;
}
