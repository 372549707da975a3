/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages of HTTP servers: which are repeated, and how they are cut. */
#include "provider/shared/reply_text.h"

#include <string.h>

#include "api/tree.h"
#include "base/strbuf.h"
#include "base/text/utf8.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

json_t *provider_reply_json(struct slice body)
{
	CLEANUP(strbuf_done) struct strbuf clean = STRBUF_INIT;
	while (body.n != 0) {
		uint32_t cp;
		size_t n = utf8_decode(body, &cp);
		if (n == 0)
			strbuf_adds(&clean, replacement);
		else
			strbuf_add(&clean, body.p, n);
		body = slice_from(body, MAX(n, (size_t)1));
	}
	return json_loadb(clean.s, clean.n, JSON_ALLOW_NUL, NULL);
}

/* Controls, separators of lines and paragraphs, and those that turn the direction of what follows. */
static bool is_printable(uint32_t cp)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = { { 0, 0x1f },	   { 0x7f, 0x9f },     { 0x200b, 0x200f },
		       { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xfeff, 0xfeff } };
	for (size_t i = 0; i < ARRAY_LEN(hidden); i++) {
		if (cp >= hidden[i].first && cp <= hidden[i].last)
			return false;
	}
	return true;
}

static void set_line(struct slice text, struct err_text out)
{
	CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
	for (text = slice_trim(text); text.n != 0;) {
		uint32_t cp = 0;
		size_t n = utf8_decode(text, &cp);
		bool is_blank = n == 1 && ascii_isspace((char)cp);
		if (line.n + MAX(n, (size_t)1) > PROVIDER_REPLY_TEXT_BYTES) {
			strbuf_adds(&line, "...");
			break;
		}
		if (n == 0 || (!is_blank && !is_printable(cp)))
			strbuf_addc(&line, '?');
		else if (is_blank)
			strbuf_addc(&line, ' ');
		else
			strbuf_add(&line, text.p, n);
		text = slice_from(text, MAX(n, (size_t)1));
	}
	err_text_set(out, "%s", line.n != 0 ? line.s : "");
}

static bool is_known(const char *member, const struct provider_reply_form *form)
{
	bool is_found = strcmp(member, form->message) == 0;
	for (size_t i = 0; form->others != NULL && form->others[i] != NULL; i++)
		is_found = is_found || strcmp(member, form->others[i]) == 0;
	return is_found;
}

void provider_reply_message(struct slice body, const struct provider_reply_form *form,
			    struct err_text out)
{
	CLEANUP(json_decrefp) json_t *tree = provider_reply_json(body);
	const json_t *message = json_object_get(tree, form->message);
	const char *member;
	json_t *value;
	err_text_set(out, "%s", "");
	if (!json_is_string(message))
		return;
	json_object_foreach (api_tree(tree), member, value) {
		if (!is_known(member, form))
			return;
	}
	set_line(api_text_slice(message), out);
}
