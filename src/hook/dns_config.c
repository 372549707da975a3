/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dnsConfig from its JSON: shapes only, podresolv_validate judges the values. */
#include "hook/dns_config.h"

#include <string.h>

#include "api/tree.h"
#include "base/err.h"

/* Refuses members that no row names: a misspelt one would be without effect. */
static int check_members(const json_t *object, const char *const *names, size_t n,
			 const char *where, struct err_text err)
{
	const char *key;
	json_t *value;
	json_object_foreach (api_tree(object), key, value) {
		bool known = false;
		for (size_t i = 0; i < n; i++)
			known = known || strcmp(key, names[i]) == 0;
		if (!known) {
			err_text_set(err, "%s has the unknown member '%.64s'", where, key);
			return ERR_PARSE;
		}
	}
	return 0;
}

/* 1: the member is a list; 0: it is absent. */
static int find_list(const json_t *tree, const char *name, const json_t **ret, struct err_text err)
{
	const json_t *list = json_object_get(tree, name);
	if (list == NULL || json_is_null(list))
		return 0;
	if (!json_is_array(list)) {
		err_text_set(err, "dnsConfig.%s is no list", name);
		return ERR_PARSE;
	}
	*ret = list;
	return 1;
}

static int read_texts(const json_t *tree, const char *name, struct arena *arena, struct slice **ret,
		      size_t *ret_n, struct err_text err)
{
	const json_t *list = NULL;
	int r = find_list(tree, name, &list, err);
	if (r <= 0)
		return r;
	size_t n = json_array_size(list);
	struct slice *texts = arena_calloc(arena, n * sizeof(*texts));
	for (size_t i = 0; i < n; i++) {
		const json_t *value = json_array_get(list, i);
		if (!json_is_string(value)) {
			err_text_set(err, "dnsConfig.%s[%zu] is no text", name, i);
			return ERR_PARSE;
		}
		texts[i] = api_text_slice(value);
	}
	*ret = texts;
	*ret_n = n;
	return 0;
}

static int read_option(const json_t *tree, size_t index, struct podresolv_option *ret,
		       struct err_text err)
{
	static const char *const members[] = { "name", "value" };
	char where[64];
	snprintf(where, sizeof(where), "dnsConfig.options[%zu]", index);
	if (!json_is_object(tree)) {
		err_text_set(err, "%s is no object with 'name' and 'value'", where);
		return ERR_PARSE;
	}
	for (size_t m = 0; m < ARRAY_LEN(members); m++) {
		const json_t *value = json_object_get(tree, members[m]);
		/* Kubernetes, too, wants {"name": "ndots", "value": "2"}: a text. */
		if (value != NULL && !json_is_null(value) && !json_is_string(value)) {
			err_text_set(err, "%s.%s is no text", where, members[m]);
			return ERR_PARSE;
		}
	}
	ret->name = api_text_slice(json_object_get(tree, "name"));
	ret->value = api_text_slice(json_object_get(tree, "value"));
	return check_members(tree, members, ARRAY_LEN(members), where, err);
}

static int read_options(const json_t *tree, struct arena *arena, struct podresolv_config *ret,
			struct err_text err)
{
	const json_t *list = NULL;
	int r = find_list(tree, "options", &list, err);
	if (r <= 0)
		return r;
	size_t n = json_array_size(list);
	ret->options = arena_calloc(arena, n * sizeof(*ret->options));
	for (size_t i = 0; i < n; i++) {
		r = read_option(json_array_get(list, i), i, &ret->options[i], err);
		if (r < 0)
			return r;
	}
	ret->n_options = n;
	return 0;
}

int hook_dns_config_read(const json_t *tree, struct arena *arena, struct podresolv_config *ret,
			 struct err_text err)
{
	static const char *const members[] = { "nameservers", "searches", "options" };
	struct podresolv_config config = { 0 };
	if (!json_is_object(tree)) {
		err_text_set(err, "dnsConfig is no JSON object");
		return ERR_PARSE;
	}
	int r = check_members(tree, members, ARRAY_LEN(members), "dnsConfig", err);
	if (r == 0)
		r = read_texts(tree, "nameservers", arena, &config.nameservers,
			       &config.n_nameservers, err);
	if (r == 0)
		r = read_texts(tree, "searches", arena, &config.searches, &config.n_searches, err);
	if (r == 0)
		r = read_options(tree, arena, &config, err);
	if (r == 0)
		*ret = config;
	return r;
}
