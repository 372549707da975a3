/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares trees by the rules of server-side apply, as far as the operator's objects need them. */
#include "controller/shared/object_contains.h"

#include <string.h>

#include "api/meta.h"
#include "base/compiler.h"

/* Lists whose items have keys, by the name of the list. A list of items without the key (ports of a
 * NetworkPolicy) is one value. */
static const struct {
	const char *list, *key;
} keyed[] = {
	{ "containers", "name" }, { "env", "name" },	 { "ownerReferences", "uid" },
	{ "ports", "name" },	  { "volumes", "name" }, { "volumeMounts", "mountPath" },
};

static const char *const one_value[] = { "matchLabels", "namespaceSelector", "nodeSelector",
					 "podSelector", "selector" };

static bool contains_value(const char *name, const json_t *now, const json_t *wanted);

static const char *key_of(const char *list)
{
	for (size_t i = 0; i < ARRAY_LEN(keyed); i++) {
		if (strcmp(list, keyed[i].list) == 0)
			return keyed[i].key;
	}
	return NULL;
}

static const json_t *item_by_key(const json_t *list, const char *key, const json_t *value)
{
	size_t i;
	json_t *v;
	json_array_foreach (list, i, v) {
		if (json_equal(json_object_get(v, key), api_tree(value)) != 0)
			return v;
	}
	return NULL;
}

static bool contains_list(const char *name, const json_t *now, const json_t *wanted)
{
	const char *key = key_of(name);
	size_t i;
	json_t *v;
	if (key == NULL || json_object_get(json_array_get(wanted, 0), key) == NULL)
		return json_equal(api_tree(now), api_tree(wanted)) != 0;
	json_array_foreach (wanted, i, v) {
		if (!contains_value("", item_by_key(now, key, json_object_get(v, key)), v))
			return false;
	}
	return true;
}

static bool is_one_value(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(one_value); i++) {
		if (strcmp(name, one_value[i]) == 0)
			return true;
	}
	return false;
}

static bool contains_value(const char *name, const json_t *now, const json_t *wanted)
{
	const char *key;
	json_t *v;
	if (now == NULL && json_is_array(wanted) && json_array_size(wanted) == 0)
		return true; /* the API leaves empty lists out */
	if (json_is_array(wanted))
		return contains_list(name, now, wanted);
	if (!json_is_object(wanted) || is_one_value(name))
		return json_equal(api_tree(now), api_tree(wanted)) != 0;
	json_object_foreach (api_tree(wanted), key, v) {
		if (!contains_value(key, json_object_get(now, key), v))
			return false;
	}
	return json_is_object(now);
}

bool object_contains(const json_t *now, const json_t *wanted)
{
	return contains_value("", now, wanted);
}
