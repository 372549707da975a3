/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text: read and written, it gives what jansson gives, and the members of its
 * metadata are found in what was written. Members of a text that was not written here lie in it at least. */
#include "api/json_text.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_metadata(json_t *object, struct slice text)
{
	const char *key;
	json_t *value;
	json_object_foreach (json_object_get(object, "metadata"), key, value) {
		CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT, want = STRBUF_INIT;
		struct slice found = { 0 };
		strbuf_add_json(&name, slice_of(key));
		api_json_add(&want, value);
		if (name.n != strlen(key) + 2)
			continue; /* with escapes */
		bool there = api_json_member(text, "metadata", key, &found);
		assert(there && slice_eq(found, strbuf_slice(&want)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const size_t flags[] = { 0, JSON_DECODE_ANY };
	const char *p = n > 0 ? (const char *)data : "";
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		json_t *ours = api_json_load((struct slice){ p, n }, flags[i], NULL);
		json_t *theirs = json_loadb(p, n, flags[i], NULL);
		assert((ours == NULL) == (theirs == NULL));
		if (theirs != NULL) {
			CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
			char *want = json_dumps(theirs, JSON_COMPACT | JSON_ENCODE_ANY);
			api_json_add(&text, ours);
			assert(json_equal(ours, theirs));
			assert(want != NULL && strcmp(want, text.s) == 0);
			check_metadata(ours, strbuf_slice(&text));
			free(want);
		}
		json_decref(ours);
		json_decref(theirs);
	}
	struct slice found = { 0 };
	json_decref(api_json_load_identity((struct slice){ p, n }));
	if (api_json_member((struct slice){ p, n }, "metadata", "a", &found))
		assert(found.p >= p && found.n <= n && found.p + found.n <= p + n);
	return 0;
}
