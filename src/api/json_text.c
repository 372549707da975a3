/* SPDX-License-Identifier: GPL-3.0-or-later */
/* jansson reads and writes strings one character at a time, several calls each, which is a tenth of
 * the cost of storing an object. Here runs of plain characters are taken together. */
#include "api/json_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "api/tree.h"
#include "base/compiler.h"
#include "base/mem.h"

enum { DEPTH_MAX = 64, DIGITS_MAX = 18 };

/* Stands for itself in a string. */
static bool is_plain(char ch)
{
	unsigned char c = (unsigned char)ch;
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Whether any of eight characters does not: below ' ', above 0x7f, a quote or a backslash. */
static bool has_special(const char *text)
{
	const uint64_t each = UINT64_C(0x0101010101010101), top = each * 0x80;
	uint64_t word;
	memcpy(&word, text, sizeof(word));
	uint64_t quote = word ^ each * '"', backslash = word ^ each * '\\';
	/* A byte that is smaller than what is subtracted from it borrows, which sets its top bit. */
	return (((word - each * ' ') | word | (quote - each) | (backslash - each)) & top) != 0;
}

enum { BLOCK_BYTES = 32 };

/* Whether any character of a block does not; a loop that compilers turn into vector instructions. */
static bool block_has_special(const char *text)
{
	uint8_t special = 0;
	for (size_t i = 0; i < BLOCK_BYTES; i++) {
		uint8_t c = (uint8_t)text[i];
		special |= (uint8_t)((c < 0x20) | (c >= 0x80) | (c == '"') | (c == '\\'));
	}
	return special != 0;
}

/* On its own, so that the constants of the loop cost short strings nothing. */
static NOINLINE size_t count_plain_blocks(const char *text, size_t len)
{
	size_t n = 0;
	while (len - n >= BLOCK_BYTES && !block_has_special(text + n))
		n += BLOCK_BYTES;
	return n;
}

/* How many characters from here on stand for themselves. */
static size_t count_plain(const char *text, size_t len)
{
	size_t n = 0;
	while (len - n >= sizeof(uint64_t) && !has_special(text + n)) {
		n += sizeof(uint64_t);
		if (n == BLOCK_BYTES) /* a long one */
			n += count_plain_blocks(text + n, len - n);
	}
	while (n < len && is_plain(text[n]))
		n++;
	return n;
}

/* ---- reading ---- */

struct reader {
	const char *at, *end;
	struct strbuf unescaped; /* the last string, if it had escapes */
	unsigned depth;
	bool identity; /* only of the object itself: what it is, and its metadata */
};

static int peek_char(const struct reader *reader)
{
	return reader->at < reader->end ? (unsigned char)*reader->at : -1;
}

/* The next character that is not blank, not taken. */
static int skip_blanks(struct reader *reader)
{
	int ch;
	while ((ch = peek_char(reader)) == ' ' || ch == '\n' || ch == '\r' || ch == '\t')
		reader->at++;
	return ch;
}

static bool take_char(struct reader *reader, char ch)
{
	bool there = skip_blanks(reader) == ch;
	reader->at += there ? 1 : 0;
	return there;
}

static const char *skip_plain(struct reader *reader)
{
	const char *from = reader->at;
	reader->at += count_plain(from, (size_t)(reader->end - from));
	return from;
}

/* The rest of a string from its first escape on. False: jansson's. */
static bool unescape_rest(struct reader *reader)
{
	static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	while (peek_char(reader) == '\\') {
		reader->at++;
		int ch = peek_char(reader);
		const char *name = ch > 0 ? strchr(names, ch) : NULL;
		if (name == NULL)
			return false;
		strbuf_addc(&reader->unescaped, meant[name - names]);
		reader->at++;
		const char *from = skip_plain(reader);
		strbuf_add(&reader->unescaped, from, (size_t)(reader->at - from));
	}
	return true;
}

/* The text between the quotes, valid until the next call. False: jansson's. */
static bool read_string(struct reader *reader, struct slice *ret)
{
	if (!take_char(reader, '"'))
		return false;
	const char *from = skip_plain(reader);
	*ret = (struct slice){ from, (size_t)(reader->at - from) };
	if (peek_char(reader) == '\\') {
		strbuf_reset(&reader->unescaped);
		strbuf_add_slice(&reader->unescaped, *ret);
		if (!unescape_rest(reader))
			return false;
		*ret = strbuf_slice(&reader->unescaped);
	}
	return peek_char(reader) == '"' && reader->at++ != NULL;
}

static json_t *read_integer(struct reader *reader)
{
	bool minus = peek_char(reader) == '-';
	reader->at += minus ? 1 : 0;
	const char *from = reader->at;
	int64_t number = 0;
	int ch;
	while ((ch = peek_char(reader)) >= '0' && ch <= '9' && reader->at - from < DIGITS_MAX) {
		number = number * 10 + (ch - '0');
		reader->at++;
	}
	ptrdiff_t digits = reader->at - from;
	bool other = ch == '.' || ch == 'e' || ch == 'E' || (ch >= '0' && ch <= '9');
	if (digits == 0 || other || (*from == '0' && (digits > 1 || minus)))
		return NULL;
	return json_integer(minus ? -number : number);
}

static json_t *read_word(struct reader *reader)
{
	struct slice rest = { reader->at, (size_t)(reader->end - reader->at) };
	json_t *value = NULL;
	size_t n = 4;
	if (slice_starts(rest, SLICE("true")))
		value = json_true();
	else if (slice_starts(rest, SLICE("null")))
		value = json_null();
	else if (slice_starts(rest, SLICE("false")))
		value = json_false(), n = 5;
	reader->at += value != NULL ? n : 0;
	return value;
}

/* Whether the character at `at` has an odd number of backslashes before it, from `from` on. */
static bool is_escaped(const char *from, const char *at)
{
	size_t n = 0;
	while (at - n > from && at[-(ptrdiff_t)n - 1] == '\\')
		n++;
	return n % 2 != 0;
}

/* Moves behind the string that begins here. False: it has no end. */
static bool skip_string(struct reader *reader)
{
	const char *from = reader->at + 1, *at = from;
	do {
		at = memchr(at, '"', (size_t)(reader->end - at));
		if (at == NULL) {
			reader->at = reader->end;
			return false;
		}
		at++;
	} while (is_escaped(from, at - 1));
	reader->at = at;
	return true;
}

/* Moves behind the value that begins here. Braces and brackets are counted, not told apart. */
static bool skip_value(struct reader *reader)
{
	unsigned depth = 0;
	for (int ch; (ch = peek_char(reader)) >= 0;) {
		bool opens = ch == '{' || ch == '[', closes = ch == '}' || ch == ']';
		if (depth == 0 && (closes || ch == ','))
			return true; /* behind a number or a word */
		if (ch != '"')
			reader->at++;
		else if (!skip_string(reader))
			return false;
		depth += opens;
		depth -= closes;
		if (depth == 0 && (closes || ch == '"'))
			return true;
	}
	return false;
}

static json_t *read_value(struct reader *reader);

static bool is_unwanted(const struct reader *reader, struct slice key)
{
	if (!reader->identity || reader->depth > 2)
		return false;
	if (reader->depth == 2)
		return slice_is(key, "managedFields");
	return !slice_is(key, "apiVersion") && !slice_is(key, "kind") && !slice_is(key, "metadata");
}

/* The value's strings overwrite an unescaped key, so that one is copied. managedFields have such keys:
 * "k:{\"uid\":...}". */
static bool read_member(struct reader *reader, json_t *object)
{
	CLEANUP(freep) char *copy = NULL;
	struct slice text;
	if (!read_string(reader, &text))
		return false;
	if (text.p == reader->unescaped.s) {
		copy = xstrndup(text.p, text.n);
		text.p = copy;
	}
	if (!take_char(reader, ':'))
		return false;
	if (is_unwanted(reader, text))
		return skip_value(reader);
	json_t *value = read_value(reader);
	const size_t before = json_object_size(object);
	return value != NULL && json_object_setn_new_nocheck(object, text.p, text.n, value) == 0 &&
	       json_object_size(object) > before; /* no such key before */
}

static bool read_item(struct reader *reader, json_t *array)
{
	json_t *value = read_value(reader);
	return value != NULL && json_array_append_new(array, value) == 0;
}

static json_t *read_container(struct reader *reader, char open)
{
	const char close = open == '{' ? '}' : ']';
	json_t *made = open == '{' ? json_object() : json_array();
	bool fine = take_char(reader, open) && ++reader->depth <= DEPTH_MAX;
	bool ended = fine && take_char(reader, close);
	while (fine && !ended) {
		fine = open == '{' ? read_member(reader, made) : read_item(reader, made);
		ended = fine && take_char(reader, close);
		fine = fine && (ended || take_char(reader, ','));
	}
	reader->depth--;
	if (fine)
		return made;
	json_decref(made);
	return NULL;
}

/* NULL: wrong, or jansson's. */
static json_t *read_value(struct reader *reader)
{
	struct slice text;
	int ch = skip_blanks(reader);
	if (ch == '{' || ch == '[')
		return read_container(reader, (char)ch);
	if (ch == '"')
		return read_string(reader, &text) ? json_stringn_nocheck(text.p, text.n) : NULL;
	if (ch == '-' || (ch >= '0' && ch <= '9'))
		return read_integer(reader);
	return read_word(reader);
}

static json_t *load_plain(struct slice text, bool identity)
{
	struct reader reader = {
		.at = text.p, .end = text.p + text.n, .unescaped = STRBUF_INIT, .identity = identity
	};
	json_t *value = NULL;
	int first = text.n > 0 ? skip_blanks(&reader) : -1;
	if (first == '{' || (first == '[' && !identity))
		value = read_value(&reader);
	strbuf_done(&reader.unescaped);
	if (value != NULL && skip_blanks(&reader) < 0)
		return value;
	json_decref(value);
	return NULL;
}

json_t *api_json_load_plain(struct slice text)
{
	return load_plain(text, false);
}

json_t *api_json_load_identity(struct slice text)
{
	return load_plain(text, true);
}

json_t *api_json_load(struct slice text, size_t flags, json_error_t *err)
{
	json_t *value = api_json_load_plain(text);
	return value != NULL ? value : json_loadb(text.n > 0 ? text.p : "", text.n, flags, err);
}

/* ---- members of a text ---- */

/* Moves to the value of a member of the object that begins here. */
static bool find_member(struct reader *reader, const char *name)
{
	if (!take_char(reader, '{'))
		return false;
	while (peek_char(reader) == '"') {
		const char *key = reader->at + 1;
		if (!skip_string(reader) || !take_char(reader, ':'))
			return false;
		if (slice_is((struct slice){ key, (size_t)(reader->at - key) - 2 }, name))
			return true;
		if (!skip_value(reader) || !take_char(reader, ','))
			return false;
	}
	return false;
}

bool api_json_member(struct slice object, const char *outer, const char *name, struct slice *ret)
{
	struct reader reader = { .at = object.p, .end = object.p + object.n };
	if (object.n == 0 || !find_member(&reader, outer) || !find_member(&reader, name))
		return false;
	const char *value = reader.at;
	if (!skip_value(&reader))
		return false;
	*ret = (struct slice){ value, (size_t)(reader.at - value) };
	return true;
}

/* ---- writing ---- */

static int append_chunk(const char *pos, size_t len, void *ctx)
{
	strbuf_add(ctx, pos, len);
	return 0;
}

static bool add_by_jansson(struct strbuf *out, const json_t *value)
{
	size_t before = out->n;
	if (json_dump_callback(value, append_chunk, out, JSON_COMPACT | JSON_ENCODE_ANY) == 0)
		return true;
	out->n = before;
	strbuf_adds(out, "null");
	return value == NULL;
}

/* False, with nothing appended: it has characters that are jansson's. */
static bool add_plain_string(struct strbuf *out, const char *text, size_t len)
{
	static const char meant[] = "\"\\\n\t", names[] = "\"\\nt";
	const size_t before = out->n;
	strbuf_addc(out, '"');
	for (size_t n = 0; n < len;) {
		size_t from = n;
		n += count_plain(text + n, len - n);
		strbuf_add(out, text + from, n - from);
		if (n == len)
			break;
		const char *escape = text[n] != '\0' ? strchr(meant, text[n]) : NULL;
		if (escape == NULL) {
			out->n = before;
			return false;
		}
		strbuf_addc(out, '\\');
		strbuf_addc(out, names[escape - meant]);
		n++;
	}
	strbuf_addc(out, '"');
	return true;
}

static bool add_string(struct strbuf *out, const json_t *value)
{
	return add_plain_string(out, api_text(value), json_string_length(value)) ||
	       add_by_jansson(out, value);
}

static bool add_key(struct strbuf *out, const char *key)
{
	size_t n = strlen(key);
	if (add_plain_string(out, key, n))
		return true;
	json_t *text = json_stringn_nocheck(key, n);
	bool fine = add_by_jansson(out, text);
	json_decref(text);
	return fine;
}

static bool add_members(struct strbuf *out, json_t *object)
{
	const char *key;
	json_t *value;
	char before = '{';
	bool fine = true;
	json_object_foreach (object, key, value) {
		strbuf_addc(out, before);
		fine &= add_key(out, key);
		strbuf_addc(out, ':');
		fine &= api_json_add(out, value);
		before = ',';
	}
	if (before == '{')
		strbuf_addc(out, '{');
	strbuf_addc(out, '}');
	return fine;
}

static bool add_items(struct strbuf *out, const json_t *array)
{
	bool fine = true;
	strbuf_addc(out, '[');
	for (size_t i = 0; i < json_array_size(array); i++) {
		if (i > 0)
			strbuf_addc(out, ',');
		fine &= api_json_add(out, json_array_get(array, i));
	}
	strbuf_addc(out, ']');
	return fine;
}

bool api_json_add(struct strbuf *out, const json_t *value)
{
	if (json_is_object(value))
		return add_members(out, (json_t *)(uintptr_t)value);
	if (json_is_array(value))
		return add_items(out, value);
	return json_is_string(value) ? add_string(out, value) : add_by_jansson(out, value);
}

void api_json_add_member(struct strbuf *out, const char *key, const char *value)
{
	if (out->n > 0 && out->s[out->n - 1] != '{')
		strbuf_addc(out, ',');
	strbuf_addc(out, '"');
	strbuf_adds(out, key);
	strbuf_adds(out, "\":");
	strbuf_add_json(out, slice_of(value));
}
