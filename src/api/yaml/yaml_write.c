/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes YAML: block style, two spaces per level, lists in line with their key as kubectl prints them. */
#include "api/yaml/yaml_write.h"

#include <string.h>

#include "api/tree.h"
#include "api/yaml/yaml.h"
#include "api/yaml/yaml_scalar_priv.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text/utf8.h"

/* A date, to readers that know YAML 1.1's timestamps: 2026-01-02 and what may follow it. */
static bool date_like(struct slice text)
{
	return text.n >= 8 && ascii_isdigit(text.p[0]) && ascii_isdigit(text.p[1]) &&
	       ascii_isdigit(text.p[2]) && ascii_isdigit(text.p[3]) && text.p[4] == '-' &&
	       ascii_isdigit(text.p[5]);
}

/* Safe without quotes: cannot be read as anything but this string. */
static bool plain_safe(struct slice text)
{
	struct yaml_number num;
	if (text.n == 0 || slice_is(text, "<<") /* a merge */ || date_like(text) ||
	    yaml_scalar_resolve(text, &num) != YAML_STRING)
		return false;
	if (slice_starts(text, SLICE("..."))) /* ends the document, at the beginning of a line */
		return false;
	if (strchr("-?:,[]{}#&*!|>'\"%@`= \t", text.p[0]) != NULL || text.p[text.n - 1] == ' ' ||
	    text.p[text.n - 1] == ':')
		return false;
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];
		if (c < ' ' || c == 0x7f || c >= 0x80)
			return false;
		if (c == ':' && i + 1 < text.n && text.p[i + 1] == ' ')
			return false;
		if (c == '#' && text.p[i - 1] == ' ')
			return false;
	}
	return true;
}

static bool block_safe(struct slice text)
{
	if (memchr(text.p, '\n', text.n) == NULL || text.p[0] == ' ' || text.p[0] == '\n')
		return false;
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];
		if ((c < ' ' && c != '\n') || c >= 0x7f ||
		    (c == ' ' && i + 1 < text.n && text.p[i + 1] == '\n'))
			return false;
	}
	return true;
}

/* Not allowed in a YAML text, or a line break there (YAML 1.1 §4.1 and §4.2), while JSON has them
 * as they are. */
static bool needs_escape(uint32_t code_point)
{
	return (code_point >= 0x7f && code_point < 0xa0) || code_point == 0x2028 ||
	       code_point == 0x2029 || code_point == 0xfeff || code_point == 0xfffe ||
	       code_point == 0xffff;
}

static void write_quoted(struct strbuf *out, struct slice text)
{
	CLEANUP(strbuf_done) struct strbuf json = STRBUF_INIT;
	strbuf_add_json(&json, text);
	struct slice rest = strbuf_slice(&json);
	while (rest.n != 0) {
		uint32_t code_point = 0;
		size_t n = utf8_decode(rest, &code_point);
		if (needs_escape(code_point))
			strbuf_addf(out, "\\u%04x", (unsigned)code_point);
		else
			strbuf_add(out, rest.p, n);
		rest = slice_from(rest, n);
	}
}

static void write_indent(struct strbuf *out, unsigned level)
{
	for (unsigned i = 0; i < level; i++)
		strbuf_adds(out, "  ");
}

static void write_block(struct strbuf *out, struct slice text, unsigned level)
{
	bool newline = text.p[text.n - 1] == '\n';
	bool more = newline && text.n > 1 && text.p[text.n - 2] == '\n';
	strbuf_adds(out, more ? "|+\n" : newline ? "|\n" : "|-\n");
	struct slice rest = text;
	if (newline)
		rest.n--;
	do {
		struct slice line = slice_cut(&rest, '\n');
		if (line.n != 0)
			write_indent(out, level);
		strbuf_add_slice(out, line);
		strbuf_addc(out, '\n');
	} while (rest.p != NULL);
}

static void write_string(struct strbuf *out, struct slice text, unsigned level)
{
	/* Lines of a block are indented, and those of a whole document are not. */
	if (level != 0 && block_safe(text)) {
		write_block(out, text, level);
		return;
	}
	if (plain_safe(text))
		strbuf_add_slice(out, text);
	else
		write_quoted(out, text);
	strbuf_addc(out, '\n');
}

static void write_node(struct strbuf *out, const json_t *value, unsigned level, bool in_list);

static void write_map(struct strbuf *out, const json_t *value, unsigned level, bool in_list)
{
	const char *k;
	json_t *c;
	bool first = true;
	json_object_foreach (api_tree(value), k, c) {
		if (!first || !in_list)
			write_indent(out, level);
		first = false;
		if (plain_safe(slice_of(k)))
			strbuf_adds(out, k);
		else
			write_quoted(out, slice_of(k));
		strbuf_addc(out, ':');
		bool nested = (json_is_object(c) && json_object_size(c) != 0) ||
			      (json_is_array(c) && json_array_size(c) != 0);
		strbuf_addc(out, nested ? '\n' : ' ');
		write_node(out, c, json_is_array(c) ? level : level + 1, false);
	}
}

static void write_list(struct strbuf *out, const json_t *value, unsigned level, bool in_list)
{
	size_t i;
	json_t *c;
	json_array_foreach (value, i, c) {
		if (i != 0 || !in_list)
			write_indent(out, level);
		strbuf_adds(out, "- ");
		write_node(out, c, level + 1, true);
	}
}

static void write_node(struct strbuf *out, const json_t *value, unsigned level, bool in_list)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		if (json_object_size(value) == 0)
			strbuf_adds(out, "{}\n");
		else
			write_map(out, value, level, in_list);
		return;
	case JSON_ARRAY:
		if (json_array_size(value) == 0)
			strbuf_adds(out, "[]\n");
		else
			write_list(out, value, level, in_list);
		return;
	case JSON_STRING:
		write_string(out, api_text_slice(value), level);
		return;
	case JSON_INTEGER:
		strbuf_addf(out, "%" JSON_INTEGER_FORMAT "\n", json_integer_value(value));
		return;
	case JSON_REAL:
	case JSON_TRUE:
	case JSON_FALSE:
	case JSON_NULL:
		break;
	}
	CLEANUP(freep) char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
	strbuf_addf(out, "%s\n", text);
}

void api_yaml_write(struct strbuf *out, const json_t *value)
{
	write_node(out, value, 0, false);
}
