/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ConfigMap: validation of keys and size, and of data that is immutable. */
#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/kind/table_cells.h"
#include "apiserver/rules/field_errors.h"
#include "apiserver/rules/name_rules.h"
#include "base/strbuf.h"

/* Number of bytes that base64 text encodes. */
static size_t decoded_bytes(const json_t *value)
{
	const char *s = api_text(value);
	size_t digits = 0;
	for (; *s != '\0'; s++)
		digits += *s != '=' && *s != '\n' && *s != '\r';
	return digits * 3 / 4;
}

static void check_key(const char *field, const char *key, const json_t *other,
		      struct api_errors *errs)
{
	CLEANUP(strbuf_done) struct strbuf place = STRBUF_INIT;
	strbuf_addf(&place, "%s[%s]", field, key);
	apiserver_check_config_key(&(struct apiserver_field){ errs, place.s, NULL }, key);
	if (json_object_get(other, key) == NULL)
		return;
	json_t *value = json_string(key);
	apiserver_add_invalid(errs, place.s, value, "duplicate of key present in binaryData");
	json_decref(value);
}

static void check_data(const json_t *object, struct api_errors *errs)
{
	const json_t *data = json_object_get(object, "data");
	const json_t *binary = json_object_get(object, "binaryData");
	const char *key;
	json_t *value;
	size_t bytes = 0;
	json_object_foreach (api_tree(data), key, value) {
		check_key("data", key, binary, errs);
		bytes += json_string_length(value);
	}
	json_object_foreach (api_tree(binary), key, value) {
		check_key("binaryData", key, NULL, errs);
		bytes += decoded_bytes(value);
	}
	if (bytes > APISERVER_DATA_MAX_BYTES)
		api_errors_add(errs, API_FIELD_TOO_LONG, "[]", NULL,
			       "may not be more than 1048576 bytes");
}

static bool is_different(const json_t *left, const json_t *right)
{
	return (left == NULL) != (right == NULL) || (left != NULL && !json_equal(left, right));
}

static void check_immutable(const json_t *object, const json_t *old, struct api_errors *errs)
{
	static const char text[] = "field is immutable when `immutable` is set";
	static const char *const fields[] = { "data", "binaryData" };
	if (!json_is_true(json_object_get(old, "immutable")))
		return;
	if (!json_is_true(json_object_get(object, "immutable")))
		apiserver_add_forbidden(errs, "immutable", text);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (is_different(json_object_get(object, fields[i]),
				 json_object_get(old, fields[i])))
			apiserver_add_forbidden(errs, fields[i], text);
	}
}

static void validate_configmap(const struct apiserver_env *env, const json_t *object,
			       const json_t *old, struct api_errors *errs)
{
	(void)env;
	if (old != NULL) {
		check_immutable(object, old, errs);
		apiserver_validate_as_new(object, errs);
	}
	check_data(object, errs);
}

const struct apiserver_strategy apiserver_configmap_strategy = {
	.kind = "ConfigMap",
	.group = "",
	.validate = validate_configmap,
	.bumps_generation = apiserver_no_generation,
	.cells = apiserver_cells_configmap,
};
