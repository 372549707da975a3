/* Comparing with what was applied. */
#include "controller/dnsoperator/object_contains.h"

#include <string.h>

#include "api/meta.h"
#include "base/compiler.h"

/* Lists whose items have keys, by the member that holds the list. Items without the key (ports of a
 * NetworkPolicy) make it one value. */
static const struct {
	const char *list, *key;
} keyed[] = {
	{ "containers", "name" }, { "env", "name" },	 { "ownerReferences", "uid" },
	{ "ports", "name" },	  { "volumes", "name" }, { "volumeMounts", "mountPath" },
};

static const char *const whole[] = { "matchLabels", "namespaceSelector", "nodeSelector",
				     "podSelector", "selector" };

static bool has(const char *name, const json_t *now, const json_t *wanted);

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

static bool list_has(const char *name, const json_t *now, const json_t *wanted)
{
	const char *key = key_of(name);
	size_t i;
	json_t *v;
	if (key == NULL || json_object_get(json_array_get(wanted, 0), key) == NULL)
		return json_equal(api_tree(now), api_tree(wanted)) != 0;
	json_array_foreach (wanted, i, v) {
		if (!has("", item_by_key(now, key, json_object_get(v, key)), v))
			return false;
	}
	return true;
}

static bool is_whole(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
		if (strcmp(name, whole[i]) == 0)
			return true;
	}
	return false;
}

static bool has(const char *name, const json_t *now, const json_t *wanted)
{
	const char *key;
	json_t *v;
	if (now == NULL && json_is_array(wanted) && json_array_size(wanted) == 0)
		return true; /* the API leaves empty lists out */
	if (json_is_array(wanted))
		return list_has(name, now, wanted);
	if (!json_is_object(wanted) || is_whole(name))
		return json_equal(api_tree(now), api_tree(wanted)) != 0;
	json_object_foreach (api_tree(wanted), key, v) {
		if (!has(key, json_object_get(now, key), v))
			return false;
	}
	return json_is_object(now);
}

bool dnsoperator_object_contains(const json_t *now, const json_t *wanted)
{
	return has("", now, wanted);
}
