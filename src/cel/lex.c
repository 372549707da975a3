/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Splits a CEL expression into tokens. */
#include "cel/lex_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/text/charset.h"
#include "base/text/utf8.h"

static int set_error(struct err_text err, int code, const char *text)
{
	err_text_set(err, "%s", text);
	return code;
}

static bool is_name_char(char ch)
{
	return ascii_isalpha(ch) || ascii_isdigit(ch) || ch == '_';
}

static void skip_blanks(struct slice *rest)
{
	while (rest->n != 0) {
		if (ascii_isspace(rest->p[0])) {
			*rest = slice_from(*rest, 1);
		} else if (slice_starts(*rest, SLICE("//"))) {
			while (rest->n != 0 && rest->p[0] != '\n')
				*rest = slice_from(*rest, 1);
		} else {
			return;
		}
	}
}

/* ---- texts ---- */

struct text {
	struct slice in; /* what is left of it */
	char *out;
	size_t n;
};

static int read_hex_digits(struct text *text, size_t count, uint32_t *ret)
{
	*ret = 0;
	if (text->in.n < count)
		return ERR_PARSE;
	for (size_t i = 0; i < count; i++) {
		int digit = ascii_hex_value(text->in.p[i]);
		if (digit < 0)
			return ERR_PARSE;
		*ret = *ret * 16 + (uint32_t)digit;
	}
	text->in = slice_from(text->in, count);
	return 0;
}

/* Behind a backslash. */
static int read_escape(struct text *text)
{
	static const char plain[] = "a\ab\bf\fn\nr\rt\tv\v\\\\''\"\"``??";
	if (text->in.n == 0)
		return ERR_PARSE;
	char c = text->in.p[0];
	text->in = slice_from(text->in, 1);
	for (size_t i = 0; i + 1 < sizeof(plain); i += 2) {
		if (plain[i] == c) {
			text->out[text->n++] = plain[i + 1];
			return 0;
		}
	}
	size_t digits = c == 'x' || c == 'X' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
	uint32_t cp;
	if (digits == 0 || read_hex_digits(text, digits, &cp) < 0 || cp == 0 || cp > 0x10ffff ||
	    (cp >= 0xd800 && cp < 0xe000))
		return ERR_PARSE;
	text->n += utf8_encode(cp, text->out + text->n);
	return 0;
}

/* A text whose opening quotes are still there. */
static int lex_string(struct slice *rest, bool raw, struct arena *arena, struct cel_token *ret)
{
	struct slice q = { rest->p, 1 };
	char three[3] = { rest->p[0], rest->p[0], rest->p[0] };
	if (slice_starts(*rest, (struct slice){ three, 3 }))
		q.n = 3;
	/* An escape is never longer than what it stands for, as UTF-8. */
	struct text t = { slice_from(*rest, q.n), arena_alloc(arena, rest->n + 1), 0 };
	while (!slice_starts(t.in, q)) {
		if (t.in.n == 0 || (q.n == 1 && t.in.p[0] == '\n'))
			return ERR_PARSE;
		char c = t.in.p[0];
		t.in = slice_from(t.in, 1);
		if (c != '\\' || raw)
			t.out[t.n++] = c;
		else if (read_escape(&t) < 0)
			return ERR_PARSE;
	}
	*rest = slice_from(t.in, q.n);
	*ret = (struct cel_token){ .type = CEL_T_STRING, .text = { t.out, t.n } };
	return 0;
}

/* ---- numbers ---- */

static int lex_number(struct slice *rest, struct cel_token *ret, struct err_text err)
{
	char text[64] = "", *end;
	size_t n = 0;
	bool hex = slice_starts(*rest, SLICE("0x")) || slice_starts(*rest, SLICE("0X"));
	bool real = false;
	for (; n < rest->n && n + 1 < sizeof(text); n++) {
		char c = rest->p[n];
		bool sign = !hex && n != 0 && (c == '-' || c == '+') &&
			    ascii_lower(rest->p[n - 1]) == 'e';
		bool point = !hex && c == '.' && n + 1 < rest->n && ascii_isdigit(rest->p[n + 1]);
		if (!is_name_char(c) && !sign && !point)
			break;
		real = real || point || (!hex && ascii_lower(c) == 'e');
		text[n] = c;
	}
	text[n] = '\0';
	*rest = slice_from(*rest, n);
	if (n != 0 && ascii_lower(text[n - 1]) == 'u')
		return set_error(err, ERR_UNSUPPORTED, "unsigned numbers are not supported");
	errno = 0;
	*ret = (struct cel_token){ .type = real ? CEL_T_DOUBLE : CEL_T_INT };
	if (real)
		ret->number = strtod(text, &end);
	else
		ret->integer = strtoll(text, &end, hex ? 16 : 10);
	if (*end != '\0' || errno != 0)
		return set_error(err, ERR_PARSE, "malformed number");
	return 0;
}

int cel_lex(struct slice *rest, struct arena *arena, struct cel_token *ret, struct err_text err)
{
	static const char *const twos[] = { "&&", "||", "==", "!=", "<=", ">=" };
	skip_blanks(rest);
	*ret = (struct cel_token){ .type = CEL_T_END };
	if (rest->n == 0)
		return 0;
	char c = rest->p[0], next = rest->n > 1 ? rest->p[1] : '\0';
	bool raw = (c == 'r' || c == 'R') && (next == '\'' || next == '"');
	if (raw)
		*rest = slice_from(*rest, 1);
	if (raw || c == '\'' || c == '"') {
		if (lex_string(rest, raw, arena, ret) < 0)
			return set_error(err, ERR_PARSE, "malformed string");
		return 0;
	}
	if (ascii_isdigit(c) || (c == '.' && ascii_isdigit(next)))
		return lex_number(rest, ret, err);
	size_t n = 1;
	ret->type = CEL_T_OP;
	if (is_name_char(c)) {
		while (n < rest->n && is_name_char(rest->p[n]))
			n++;
		ret->type = CEL_T_NAME;
	}
	for (size_t i = 0; i < ARRAY_LEN(twos); i++) {
		if (slice_starts(*rest, slice_of(twos[i])))
			n = 2;
	}
	ret->text = (struct slice){ rest->p, n };
	*rest = slice_from(*rest, n);
	if (ret->type == CEL_T_OP && n == 1 && !charset_has("()[]{}.,:?!<>+-*/%", c))
		return set_error(err, ERR_PARSE, "unexpected character");
	return 0;
}

const char *cel_field_name(struct slice escaped, struct arena *arena)
{
	static const struct {
		const char *from, *to;
	} rows[] = {
		{ "__underscores__", "__" },
		{ "__dot__", "." },
		{ "__dash__", "-" },
		{ "__slash__", "/" },
	};
	char *out = arena_alloc(arena, escaped.n + 1);
	size_t n = 0;
	/* A word that CEL keeps for itself stands between underscores: __namespace__ */
	if (escaped.n > 4 && slice_starts(escaped, SLICE("__")) &&
	    slice_ends(escaped, SLICE("__"))) {
		struct slice word = { escaped.p + 2, escaped.n - 4 };
		bool other = false;
		for (size_t k = 0; k < ARRAY_LEN(rows); k++)
			other = other || slice_is(escaped, rows[k].from);
		if (!other && memmem(word.p, word.n, "__", 2) == NULL)
			return arena_strndup(arena, word.p, word.n);
	}
	while (escaped.n != 0) {
		size_t k = 0;
		while (k < ARRAY_LEN(rows) && !slice_starts(escaped, slice_of(rows[k].from)))
			k++;
		if (k < ARRAY_LEN(rows)) {
			memcpy(out + n, rows[k].to, strlen(rows[k].to));
			n += strlen(rows[k].to);
			escaped = slice_from(escaped, strlen(rows[k].from));
		} else {
			out[n++] = escaped.p[0];
			escaped = slice_from(escaped, 1);
		}
	}
	out[n] = '\0';
	return out;
}
