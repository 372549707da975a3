/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The annotation kubectl.kubernetes.io/last-applied-configuration, when an object changes from
 * client-side to server-side apply: fields that it lists and that still have its values become
 * owned by kubectl; later applies keep the annotation up to date while it exists. */
#include "api/apply/last_applied_priv.h"

#include <string.h>

#include "api/apply/schema_check_priv.h"
#include "api/apply/compare_priv.h"
#include "api/apply/fields_priv.h"
#include "api/meta.h"
#include "api/tree_copy.h"
#include "base/mem.h"

static const char annotation[] = "kubectl.kubernetes.io/last-applied-configuration";

enum { ANNOTATIONS_MAX_BYTES = 256 << 10 };

/* The fields of `last_config` that live still has with the same values. */
static struct fieldset *unchanged_fields(struct managed_type type, const json_t *last_config,
					 const json_t *live)
{
	CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
	struct managed_change c;
	if (managed_schema_check(type, live, false, &err) < 0 ||
	    managed_schema_check(type, last_config, false, &err) < 0)
		return NULL;
	struct fieldset *all = managed_fields(type, last_config);
	managed_compare(type, last_config, live, &c);
	struct fieldset *const changed[] = { c.modified, c.added, c.removed };
	for (size_t i = 0; i < ARRAY_LEN(changed); i++) {
		struct fieldset *rest = fieldset_difference(all, changed[i]);
		fieldset_unref(all);
		all = rest;
	}
	managed_change_done(&c);
	return all;
}

struct fieldset *managed_last_applied_fields(struct managed_type type, const char *version,
					     const json_t *live)
{
	json_error_t e;
	struct fieldset *set = NULL;
	const char *text = api_annotation(live, annotation);
	if (text == NULL || text[0] == '\0')
		return NULL;
	json_t *last_config = json_loads(text, 0, &e);
	if (json_is_object(last_config) && strcmp(api_version(last_config), version) == 0)
		set = unchanged_fields(type, last_config, live);
	json_decref(last_config);
	return set;
}

/* As Go encodes it: names sorted, <, > and & escaped, a line's end behind it. */
static char *encode_config(const json_t *config)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	json_t *copy = api_tree_copy(config);
	json_object_del(json_object_get(json_object_get(copy, "metadata"), "annotations"),
			annotation);
	CLEANUP(freep) char *plain = json_dumps(copy, JSON_COMPACT | JSON_SORT_KEYS);
	json_decref(copy);
	for (const char *p = plain; *p != '\0'; p++) {
		if (strchr("<>&", *p) != NULL)
			strbuf_addf(&out, "\\u%04x", (unsigned)*p);
		else
			strbuf_addc(&out, *p);
	}
	strbuf_addc(&out, '\n');
	return strbuf_take(&out);
}

void managed_last_applied_set(json_t *object, const json_t *config)
{
	const char *k, *old = api_annotation(object, annotation);
	json_t *v;
	size_t bytes = 0;
	if (old == NULL || old[0] == '\0')
		return;
	json_t *all = json_object_get(json_object_get(object, "metadata"), "annotations");
	CLEANUP(freep) char *text = encode_config(config);
	json_object_set_new(all, annotation, json_string(text));
	json_object_foreach (all, k, v)
		bytes += strlen(k) + json_string_length(v);
	if (bytes > ANNOTATIONS_MAX_BYTES)
		json_object_del(all, annotation);
}
