/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text: an error is reported if, and only if, jansson refuses the text. */
#include "apiserver/codec/json_error.h"

#include <assert.h>
#include <stdint.h>

#include <jansson.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	struct slice text = { (const char *)data, n };
	bool bad = apiserver_json_error(text, &why);
	json_t *o = json_loadb(text.p, text.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	/* jansson refuses more (other text than UTF-8, numbers that are too large, depth), but
	 * takes a NUL for the end of the text. */
	assert(o == NULL || !bad || slice_find(text, '\0') >= 0);
	assert(bad == (why.n != 0));
	json_decref(o);
	return 0;
}
