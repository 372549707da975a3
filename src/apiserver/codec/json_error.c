/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scanner that finds the first syntax error of a JSON text and words it as Go's encoding/json
 * does. It builds nothing; nesting is a stack of bits. All *_error functions append the message and
 * return true when they find an error. */
#include "apiserver/codec/json_error.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"

struct scan {
	struct slice in;
	size_t at;
	uint8_t *stack; /* bit set: an object */
	size_t depth;
	struct strbuf *out;
};

static int peek_char(const struct scan *scan)
{
	return scan->at < scan->in.n ? (unsigned char)scan->in.p[scan->at] : -1;
}

static void skip_blanks(struct scan *scan)
{
	while (peek_char(scan) >= 0 && strchr(" \t\r\n", peek_char(scan)) != NULL &&
	       peek_char(scan) != 0)
		scan->at++;
}

/* Appends a character as Go quotes it. Bytes above ASCII become the code points of that number. */
static void add_char(struct strbuf *out, int ch)
{
	if (ch == '\'')
		strbuf_adds(out, "'\\''");
	else if (ch == '"')
		strbuf_adds(out, "'\"'");
	else if (ch == '\n' || ch == '\t' || ch == '\r' || ch == '\b' || ch == '\f' || ch == '\v' ||
		 ch == '\a')
		strbuf_addf(out, "'\\%c'", "abtnvfr"[ch - '\a']);
	else if (ch == '\\')
		strbuf_adds(out, "'\\\\'");
	else if (ch < 0x20 || ch == 0x7f)
		strbuf_addf(out, "'\\x%02x'", (unsigned)ch);
	else if (ch < 0x7f)
		strbuf_addf(out, "'%c'", ch);
	else if (ch <= 0xa0 || ch == 0xad)
		strbuf_addf(out, "'\\u%04x'", (unsigned)ch);
	else
		strbuf_addf(out, "'%c%c'", 0xc0 | ch >> 6, 0x80 | (ch & 0x3f));
}

/* Always true, so that a caller can return it. */
static bool report_invalid(struct scan *scan, const char *where)
{
	if (peek_char(scan) < 0) {
		strbuf_adds(scan->out, "unexpected end of JSON input");
		return true;
	}
	strbuf_adds(scan->out, "invalid character ");
	add_char(scan->out, peek_char(scan));
	strbuf_addf(scan->out, " %s", where);
	return true;
}

/* Go's scanner handles the end of the text as if it were a blank. */
static bool report_unfinished(struct scan *scan, const char *where)
{
	if (peek_char(scan) >= 0)
		return report_invalid(scan, where);
	strbuf_addf(scan->out, "invalid character ' ' %s", where);
	return true;
}

static bool is_hex(int ch)
{
	return (ch >= '0' && ch <= '9') || ((ch | 0x20) >= 'a' && (ch | 0x20) <= 'f');
}

static bool string_error(struct scan *scan)
{
	for (scan->at++; peek_char(scan) != '"'; scan->at++) {
		int c = peek_char(scan);
		if (c < 0x20)
			return report_invalid(scan, "in string literal");
		if (c != '\\')
			continue;
		scan->at++;
		c = peek_char(scan);
		if (c < 0 || strchr("\"\\/bfnrtu", c) == NULL || c == 0)
			return report_invalid(scan, "in string escape code");
		for (int i = 0; c == 'u' && i < 4; i++) {
			scan->at++;
			if (!is_hex(peek_char(scan)))
				return report_invalid(scan, "in \\u hexadecimal character escape");
		}
	}
	scan->at++;
	return false;
}

static bool at_digit(const struct scan *scan)
{
	return peek_char(scan) >= '0' && peek_char(scan) <= '9';
}

static bool digits_error(struct scan *scan, const char *where)
{
	if (!at_digit(scan))
		return report_unfinished(scan, where);
	while (at_digit(scan))
		scan->at++;
	return false;
}

static bool number_error(struct scan *scan)
{
	if (peek_char(scan) == '-')
		scan->at++;
	if (peek_char(scan) == '0')
		scan->at++;
	else if (digits_error(scan, "in numeric literal"))
		return true;
	if (peek_char(scan) == '.') {
		scan->at++;
		if (digits_error(scan, "after decimal point in numeric literal"))
			return true;
	}
	if (peek_char(scan) == 'e' || peek_char(scan) == 'E') {
		scan->at++;
		if (peek_char(scan) == '+' || peek_char(scan) == '-')
			scan->at++;
		if (digits_error(scan, "in exponent of numeric literal"))
			return true;
	}
	return false;
}

static bool literal_error(struct scan *scan, const char *word)
{
	for (const char *p = word; *p != '\0'; p++, scan->at++) {
		if (peek_char(scan) == (unsigned char)*p)
			continue;
		char where[64];
		snprintf(where, sizeof(where), "in literal %s (expecting '%c')", word, *p);
		return report_unfinished(scan, where);
	}
	return false;
}

static bool scalar_error(struct scan *scan)
{
	int c = peek_char(scan);
	if (c == '"')
		return string_error(scan);
	if (c == '-' || at_digit(scan))
		return number_error(scan);
	if (c == 't' || c == 'f' || c == 'n')
		return literal_error(scan, c == 't' ? "true" : c == 'f' ? "false" : "null");
	return report_invalid(scan, "looking for beginning of value");
}

static bool is_in_object(const struct scan *scan)
{
	assert(scan->depth > 0);
	return (scan->stack[(scan->depth - 1) / 8] >> (scan->depth - 1) % 8 & 1) != 0;
}

static bool push_container(struct scan *scan, bool object)
{
	if (scan->depth == APISERVER_JSON_DEPTH_MAX)
		return false;
	uint8_t bit = (uint8_t)(1U << scan->depth % 8);
	uint8_t *byte = &scan->stack[scan->depth / 8];
	*byte = (uint8_t)(object ? *byte | bit : *byte & ~bit);
	scan->depth++;
	scan->at++;
	return true;
}

/* `"key":` */
static bool key_error(struct scan *scan)
{
	skip_blanks(scan);
	if (peek_char(scan) != '"')
		return report_invalid(scan, "looking for beginning of object key string");
	if (string_error(scan))
		return true;
	skip_blanks(scan);
	if (peek_char(scan) != ':')
		return report_invalid(scan, "after object key");
	scan->at++;
	return false;
}

/* Scans to the end of a scalar or of an empty container. */
static bool value_error(struct scan *scan)
{
	for (;;) {
		skip_blanks(scan);
		int c = peek_char(scan);
		if (c != '{' && c != '[')
			return scalar_error(scan);
		if (!push_container(scan, c == '{'))
			return report_invalid(scan, "exceeded max depth");
		skip_blanks(scan);
		if (peek_char(scan) == (c == '{' ? '}' : ']')) {
			scan->at++;
			scan->depth--;
			return false;
		}
		if (c == '{' && key_error(scan))
			return true;
	}
}

/* Scans what follows a value inside a container: the next member, or the container's end. */
static bool after_value_error(struct scan *scan)
{
	while (scan->depth != 0) {
		skip_blanks(scan);
		bool object = is_in_object(scan);
		if (peek_char(scan) == ',') {
			scan->at++;
			return (object && key_error(scan)) || value_error(scan);
		}
		if (peek_char(scan) != (object ? '}' : ']'))
			return report_invalid(scan, object ? "after object key:value pair"
							   : "after array element");
		scan->at++;
		scan->depth--;
	}
	return false;
}

bool apiserver_json_error(struct slice text, struct strbuf *out)
{
	struct scan s = { .in = text, .out = out };
	uint8_t stack[APISERVER_JSON_DEPTH_MAX / 8 + 1] = { 0 };
	s.stack = stack;
	bool bad = value_error(&s);
	while (!bad && s.depth != 0)
		bad = after_value_error(&s);
	if (bad)
		return true;
	skip_blanks(&s);
	return peek_char(&s) >= 0 && report_invalid(&s, "after top-level value");
}

const char *apiserver_json_go_type(const json_t *value)
{
	if (json_is_object(value))
		return "object";
	if (json_is_array(value))
		return "array";
	if (json_is_string(value))
		return "string";
	return json_is_boolean(value) ? "bool" : "number";
}
