/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Secrets of files, with `data` and `stringData`. */
#include "cmd/plan/file_secrets.h"

#include <string.h>

#include "api/meta.h"
#include "api/tree_copy.h"
#include "base/err.h"
#include "base/mem.h"
#include "provider/provider.h"

static const char *const members[] = { "data", "stringData" };

void plan_file_secrets_add(json_t *list, const json_t *secret, const char *ns)
{
	json_t *copy = api_tree_copy(secret);
	json_object_set_new(json_object_get(copy, "metadata"), "namespace", json_string(ns));
	json_array_append_new(list, copy);
}

/* The last of that name, as the last that is applied stays. */
static const json_t *find_secret(const json_t *list, const json_t *record)
{
	const json_t *reference = api_get(record, "spec.secretRef"), *found = NULL;
	const char *named = api_get_string(reference, "namespace");
	const char *ns = named[0] != '\0' ? named : api_namespace(record);
	json_t *secret;
	size_t i;
	json_array_foreach (api_tree(list), i, secret) {
		if (strcmp(api_name(secret), api_get_string(reference, "name")) == 0 &&
		    strcmp(api_namespace(secret), ns) == 0)
			found = secret;
	}
	return found;
}

/* stringData comes before data of the same key, as for the API. */
static int add_members(const json_t *secret, bool is_text, struct dnsrecord_credentials *ret)
{
	const json_t *texts = json_object_get(secret, "stringData");
	json_t *values = json_object_get(secret, members[is_text]), *value;
	const char *key;
	json_object_foreach (values, key, value) {
		struct secret *bytes = &ret->values[ret->n];
		if (!is_text && json_object_get(texts, key) != NULL)
			continue;
		if (!json_is_string(value))
			return ERR_PARSE;
		if (is_text)
			secret_set(bytes, api_text_slice(value));
		else if (secret_base64(api_text_slice(value), bytes) < 0)
			return ERR_PARSE;
		ret->v[ret->n++] =
			(struct provider_credential){ xstrdup(key), secret_slice(bytes) };
	}
	return 0;
}

int plan_file_secrets_read(const json_t *list, const json_t *record,
			   struct dnsrecord_credentials *ret, struct err_text err)
{
	const json_t *secret = find_secret(list, record);
	*ret = (struct dnsrecord_credentials){ 0 };
	if (secret == NULL)
		return 0;
	size_t n = json_object_size(json_object_get(secret, "data")) +
		   json_object_size(json_object_get(secret, "stringData"));
	ret->v = xcalloc(n + 1, sizeof(*ret->v));
	ret->values = xcalloc(n + 1, sizeof(*ret->values));
	if (add_members(secret, false, ret) == 0 && add_members(secret, true, ret) == 0)
		return 1;
	err_text_set(err, "the Secret '%s' of the files has invalid data", api_name(secret));
	return ERR_CONFIG;
}

void plan_file_secrets_free(json_t *list)
{
	json_t *secret, *value;
	const char *key;
	size_t i;
	json_array_foreach (list, i, secret) {
		for (size_t k = 0; k < ARRAY_LEN(members); k++) {
			json_object_foreach (json_object_get(secret, members[k]), key, value) {
				struct slice text = api_text_slice(value);
				if (json_is_string(value))
					explicit_bzero((void *)(uintptr_t)text.p, text.n);
			}
		}
	}
	json_decref(list);
}
