/* A scanner of JSON that knows only where it is, to say what is wrong there. Nesting is a stack of
 * bits. */
#include "apiserver/jsonerr.h"

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

static int peek(const struct scan *s)
{
	return s->at < s->in.n ? (unsigned char)s->in.p[s->at] : -1;
}

static void blanks(struct scan *s)
{
	while (peek(s) >= 0 && strchr(" \t\r\n", peek(s)) != NULL && peek(s) != 0)
		s->at++;
}

/* A character as Go quotes it. Bytes beyond ASCII are shown as the code points they would be. */
static void add_char(struct strbuf *out, int c)
{
	if (c == '\'')
		strbuf_adds(out, "'\\''");
	else if (c == '"')
		strbuf_adds(out, "'\"'");
	else if (c == '\n' || c == '\t' || c == '\r' || c == '\b' || c == '\f' || c == '\v' ||
		 c == '\a')
		strbuf_addf(out, "'\\%c'", "abtnvfr"[c - '\a']);
	else if (c == '\\')
		strbuf_adds(out, "'\\\\'");
	else if (c < 0x20 || c == 0x7f)
		strbuf_addf(out, "'\\x%02x'", (unsigned)c);
	else if (c < 0x7f)
		strbuf_addf(out, "'%c'", c);
	else if (c <= 0xa0 || c == 0xad)
		strbuf_addf(out, "'\\u%04x'", (unsigned)c);
	else
		strbuf_addf(out, "'%c%c'", 0xc0 | c >> 6, 0x80 | (c & 0x3f));
}

/* Always true: found something. */
static bool wrong(struct scan *s, const char *where)
{
	if (peek(s) < 0) {
		strbuf_adds(s->out, "unexpected end of JSON input");
		return true;
	}
	strbuf_adds(s->out, "invalid character ");
	add_char(s->out, peek(s));
	strbuf_addf(s->out, " %s", where);
	return true;
}

/* Go's scanner is told the end of the text as if it was a blank. */
static bool unfinished(struct scan *s, const char *where)
{
	if (peek(s) >= 0)
		return wrong(s, where);
	strbuf_addf(s->out, "invalid character ' ' %s", where);
	return true;
}

static bool is_hex(int c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static bool string_error(struct scan *s)
{
	for (s->at++; peek(s) != '"'; s->at++) {
		int c = peek(s);
		if (c < 0x20)
			return wrong(s, "in string literal");
		if (c != '\\')
			continue;
		s->at++;
		c = peek(s);
		if (c < 0 || strchr("\"\\/bfnrtu", c) == NULL || c == 0)
			return wrong(s, "in string escape code");
		for (int i = 0; c == 'u' && i < 4; i++) {
			s->at++;
			if (!is_hex(peek(s)))
				return wrong(s, "in \\u hexadecimal character escape");
		}
	}
	s->at++;
	return false;
}

static bool digit(const struct scan *s)
{
	return peek(s) >= '0' && peek(s) <= '9';
}

static bool digits_error(struct scan *s, const char *where)
{
	if (!digit(s))
		return unfinished(s, where);
	while (digit(s))
		s->at++;
	return false;
}

static bool number_error(struct scan *s)
{
	if (peek(s) == '-')
		s->at++;
	if (peek(s) == '0')
		s->at++;
	else if (digits_error(s, "in numeric literal"))
		return true;
	if (peek(s) == '.') {
		s->at++;
		if (digits_error(s, "after decimal point in numeric literal"))
			return true;
	}
	if (peek(s) == 'e' || peek(s) == 'E') {
		s->at++;
		if (peek(s) == '+' || peek(s) == '-')
			s->at++;
		if (digits_error(s, "in exponent of numeric literal"))
			return true;
	}
	return false;
}

static bool literal_error(struct scan *s, const char *word)
{
	for (const char *p = word; *p != '\0'; p++, s->at++) {
		if (peek(s) == (unsigned char)*p)
			continue;
		char where[64];
		snprintf(where, sizeof(where), "in literal %s (expecting '%c')", word, *p);
		return unfinished(s, where);
	}
	return false;
}

static bool scalar_error(struct scan *s)
{
	int c = peek(s);
	if (c == '"')
		return string_error(s);
	if (c == '-' || digit(s))
		return number_error(s);
	if (c == 't' || c == 'f' || c == 'n')
		return literal_error(s, c == 't' ? "true" : c == 'f' ? "false" : "null");
	return wrong(s, "looking for beginning of value");
}

static bool in_object(const struct scan *s)
{
	return (s->stack[(s->depth - 1) / 8] >> (s->depth - 1) % 8 & 1) != 0;
}

static bool push(struct scan *s, bool object)
{
	if (s->depth == APISERVER_JSON_DEPTH_MAX)
		return false;
	uint8_t bit = (uint8_t)(1U << s->depth % 8);
	uint8_t *byte = &s->stack[s->depth / 8];
	*byte = (uint8_t)(object ? *byte | bit : *byte & ~bit);
	s->depth++;
	s->at++;
	return true;
}

/* `"key":` */
static bool key_error(struct scan *s)
{
	blanks(s);
	if (peek(s) != '"')
		return wrong(s, "looking for beginning of object key string");
	if (string_error(s))
		return true;
	blanks(s);
	if (peek(s) != ':')
		return wrong(s, "after object key");
	s->at++;
	return false;
}

/* Up to the end of a scalar or of an empty container. */
static bool value_error(struct scan *s)
{
	for (;;) {
		blanks(s);
		int c = peek(s);
		if (c != '{' && c != '[')
			return scalar_error(s);
		if (!push(s, c == '{'))
			return wrong(s, "exceeded max depth");
		blanks(s);
		if (peek(s) == (c == '{' ? '}' : ']')) {
			s->at++;
			s->depth--;
			return false;
		}
		if (c == '{' && key_error(s))
			return true;
	}
}

/* What follows a value inside of something: its next member, or its end. */
static bool behind_error(struct scan *s)
{
	while (s->depth != 0) {
		blanks(s);
		bool object = in_object(s);
		if (peek(s) == ',') {
			s->at++;
			return (object && key_error(s)) || value_error(s);
		}
		if (peek(s) != (object ? '}' : ']'))
			return wrong(s, object ? "after object key:value pair"
					       : "after array element");
		s->at++;
		s->depth--;
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
		bad = behind_error(&s);
	if (bad)
		return true;
	blanks(&s);
	return peek(&s) >= 0 && wrong(&s, "after top-level value");
}

const char *apiserver_json_kind(struct slice text)
{
	text = slice_trim(text);
	switch (text.n != 0 ? text.p[0] : '\0') {
	case '{':
		return "object";
	case '[':
		return "array";
	case '"':
		return "string";
	case 't':
	case 'f':
		return "bool";
	default:
		return "number";
	}
}
