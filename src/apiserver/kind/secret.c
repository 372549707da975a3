/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Secret: stringData is moved into data, and some types require certain keys. */
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/kind/table_cells.h"
#include "apiserver/rules/field_errors.h"
#include "apiserver/rules/members.h"
#include "apiserver/rules/name_rules.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text/base64.h"

/* Encodes data again as Go does, without line breaks. */
static void reencode_data(json_t *data)
{
	const char *key;
	json_t *value;
	json_object_foreach (data, key, value) {
		CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT, text = STRBUF_INIT;
		struct slice s = api_text_slice(value);
		if (!json_is_string(value) || base64_decode(&bytes, s) < 0)
			continue;
		base64_encode(&text, strbuf_slice(&bytes));
		json_string_set(value, text.s);
	}
}

static void prepare_secret(const struct apiserver_env *env, json_t *object, const json_t *old)
{
	json_t *texts = json_object_get(object, "stringData"), *value;
	const char *key;
	(void)env, (void)old;
	reencode_data(json_object_get(object, "data"));
	json_object_foreach (texts, key, value) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		base64_encode(&text, api_text_slice(value));
		json_object_set_new(apiserver_make_member(object, "data"), key,
				    json_string(text.s));
	}
	json_object_del(object, "stringData");
	apiserver_set_default(object, "type", json_string("Opaque"));
}

/* Keys that a type requires. `any`: one of them is enough; `full`: it must not be empty; `json`: its
 * value must be a JSON object. */
static const struct required_keys {
	const char *type;
	const char *keys[2];
	bool any, full, json;
} required_keys[] = {
	{ "kubernetes.io/dockercfg", { ".dockercfg" }, .json = true },
	{ "kubernetes.io/dockerconfigjson", { ".dockerconfigjson" }, .json = true },
	{ "kubernetes.io/basic-auth", { "username", "password" }, .any = true },
	{ "kubernetes.io/ssh-auth", { "ssh-privatekey" }, .full = true },
	{ "kubernetes.io/tls", { "tls.crt", "tls.key" }, .any = false },
};

static bool has_key(const struct required_keys *required, const json_t *data, const char *key)
{
	const json_t *v = json_object_get(data, key);
	return v != NULL && (!required->full || json_string_length(v) != 0);
}

static bool is_json(const json_t *value)
{
	CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
	struct slice s = api_text_slice(value);
	if (!json_is_string(value) || base64_decode(&bytes, s) < 0)
		return false;
	json_t *o = json_loadb(bytes.s, bytes.n, 0, NULL);
	bool fits = json_is_object(o);
	json_decref(o);
	return fits;
}

static void check_required_keys(const struct required_keys *required, const json_t *data,
				struct api_errors *errs)
{
	struct apiserver_path p;
	size_t found = 0;
	for (size_t i = 0; i < ARRAY_LEN(required->keys) && required->keys[i] != NULL; i++)
		found += has_key(required, data, required->keys[i]);
	for (size_t i = 0; i < ARRAY_LEN(required->keys) && required->keys[i] != NULL; i++) {
		apiserver_format_path(&p, "data[%s]", required->keys[i]);
		if (!has_key(required, data, required->keys[i]) && !(required->any && found != 0))
			apiserver_add_required(errs, p.s, "");
		else if (required->json && !is_json(json_object_get(data, required->keys[i])))
			api_errors_add(errs, API_FIELD_INVALID, p.s,
				       "\"<secret contents redacted>\"", "must be a JSON object");
	}
}

static void check_type(const json_t *object, struct api_errors *errs)
{
	const char *type = api_get_string(object, "type");
	const char *account = api_annotation(object, "kubernetes.io/service-account.name");
	for (size_t i = 0; i < ARRAY_LEN(required_keys); i++) {
		if (strcmp(required_keys[i].type, type) == 0)
			check_required_keys(&required_keys[i], json_object_get(object, "data"),
					    errs);
	}
	if (strcmp(type, "kubernetes.io/service-account-token") == 0 &&
	    (account == NULL || account[0] == '\0'))
		apiserver_add_required(
			errs, "metadata.annotations[kubernetes.io/service-account.name]", "");
}

static void check_data(const json_t *object, struct api_errors *errs)
{
	const char *key;
	json_t *value;
	size_t bytes = 0;
	json_object_foreach (json_object_get(object, "data"), key, value) {
		CLEANUP(freep) char *place = xasprintf("data[%s]", key);
		const char *s = api_text(value);
		size_t n = json_string_length(value);
		apiserver_check_config_key(&(struct apiserver_field){ errs, place, NULL }, key);
		bytes += n / 4 * 3;
		for (size_t k = n; k > 0 && s[k - 1] == '='; k--)
			bytes--;
	}
	if (bytes > APISERVER_DATA_MAX_BYTES)
		api_errors_add(errs, API_FIELD_TOO_LONG, "data", NULL,
			       "may not be more than 1048576 bytes");
}

static void check_update(const json_t *object, const json_t *old, struct api_errors *errs)
{
	static const char text[] = "field is immutable when `immutable` is set";
	const json_t *data = json_object_get(object, "data"), *was = json_object_get(old, "data");
	apiserver_check_immutable(errs, "type", json_object_get(object, "type"),
				  json_object_get(old, "type"));
	if (!json_is_true(json_object_get(old, "immutable")))
		return;
	if (!json_is_true(json_object_get(object, "immutable")))
		apiserver_add_forbidden(errs, "immutable", text);
	if ((data == NULL) != (was == NULL) || (data != NULL && !json_equal(data, was)))
		apiserver_add_forbidden(errs, "data", text);
}

static void validate_secret(const struct apiserver_env *env, const json_t *object,
			    const json_t *old, struct api_errors *errs)
{
	(void)env;
	if (old != NULL) {
		check_update(object, old, errs);
		apiserver_validate_as_new(object, errs);
	}
	check_data(object, errs);
	check_type(object, errs);
}

const struct apiserver_strategy apiserver_secret_strategy = {
	.kind = "Secret",
	.group = "",
	.prepare = prepare_secret,
	.validate = validate_secret,
	.bumps_generation = apiserver_no_generation,
	.cells = apiserver_cells_secret,
};
