/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as either selector: parsed or refused, and matched. */
#include "api/selector.h"
#include "base/err_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct slice text = { (const char *)data, n };
	struct api_selector s;
	struct arena a;
	char err[128];
	json_t *o = json_pack("{s{ss}}", "a", "b", "c");
	arena_init(&a);
	if (api_label_selector_parse(text, &a, &s, ERR_TEXT(err)) == 0)
		IGNORE(api_label_selector_match(&s, json_object_get(o, "a")));
	if (api_field_selector_parse(text, &a, &s, ERR_TEXT(err)) == 0)
		IGNORE(api_field_selector_match(&s, o));
	arena_done(&a);
	json_decref(o);
	return 0;
}
