/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as FieldsV1: read or refused, and what is read is written so that it reads the same. */
#include <stdlib.h>

#include "api/fields/fieldset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void none(void *ctx, struct fieldset_el *const *path, size_t n)
{
	strbuf_reset(ctx);
	fieldset_path_text(ctx, path, n);
}

static bool is_written_as(const struct fieldset *s, const json_t *want)
{
	json_t *v = fieldset_write(s);
	bool same = json_equal(v, want) != 0;
	json_decref(v);
	return same;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct fieldset *s = NULL, *again = NULL;
	json_t *v = json_loadb((const char *)data, n, JSON_DECODE_ANY, NULL);
	if (v != NULL && fieldset_parse(v, &s) == 0) {
		json_t *w = fieldset_write(s);
		if (fieldset_parse(w, &again) < 0 || !is_written_as(again, w))
			abort();
		struct fieldset *rest = fieldset_difference(s, again);
		struct fieldset *both = fieldset_union(s, again);
		if (!fieldset_empty(rest) || !is_written_as(both, w))
			abort();
		fieldset_each(s, none, &text);
		fieldset_unref(rest);
		fieldset_unref(both);
		json_decref(w);
	}
	fieldset_unref(s);
	fieldset_unref(again);
	json_decref(v);
	return 0;
}
