/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text to tokens. Follows expr-lang's lexer, so that what is accepted and where an error is shown
 * agree; names may hold any character beyond ASCII that is no white space. */
#include "expr/lex_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text/utf8.h"
#include "expr/expr_priv.h"

static const char *const word_ops[] = { "not",	    "in",	"or",  "and",
					"matches",  "contains", "let", "startsWith",
					"endsWith", "if",	"else" };

void expr_line_col(struct slice text, size_t at, unsigned *ret_line, unsigned *ret_col)
{
	*ret_line = 1;
	*ret_col = 1;
	for (size_t i = 0; i < at && i < text.n; i++) {
		if (text.p[i] == '\n') {
			++*ret_line;
			*ret_col = 1;
		} else if (((unsigned char)text.p[i] & 0xc0) != 0x80) {
			++*ret_col;
		}
	}
}

int expr_error_at(const struct expr_lexer *lx, size_t at, const char *fmt, ...)
{
	char text[400];
	unsigned line, col;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (lx->text.n == 0)
		return srcerr_set(lx->err, lx->base, "%s", text);
	expr_line_col(lx->text, at, &line, &col);
	return srcerr_set(lx->err, lx->base, "%s (%u:%u)", text, line, col);
}

static int peek_byte(const struct expr_lexer *lx, size_t ahead)
{
	return lx->pos + ahead < lx->text.n ? (unsigned char)lx->text.p[lx->pos + ahead] : -1;
}

static bool accept_char(struct expr_lexer *lx, const char *set)
{
	int c = peek_byte(lx, 0);
	if (c <= 0 || strchr(set, c) == NULL)
		return false;
	lx->pos++;
	return true;
}

/* White space beyond ASCII, as Unicode has it. */
static bool wide_space(uint32_t cp)
{
	return cp == 0x85 || cp == 0xa0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200a) ||
	       cp == 0x2028 || cp == 0x2029 || cp == 0x202f || cp == 0x205f || cp == 0x3000;
}

/* Bytes of the character at the current place when it may be part of a name, else 0. */
static size_t name_char(const struct expr_lexer *lx)
{
	int c = peek_byte(lx, 0);
	uint32_t cp;
	if (c < 0)
		return 0;
	if (c < 0x80)
		return ascii_isalpha((char)c) || ascii_isdigit((char)c) || c == '_' || c == '$';
	size_t n = utf8_decode(slice_from(lx->text, lx->pos), &cp);
	return n != 0 && !wide_space(cp) ? n : 0;
}

static int skip_comment(struct expr_lexer *lx)
{
	if (peek_byte(lx, 1) == '/') {
		while (lx->pos < lx->text.n && lx->text.p[lx->pos] != '\n')
			lx->pos++;
		return 0;
	}
	for (lx->pos += 2; lx->pos < lx->text.n; lx->pos++) {
		if (peek_byte(lx, 0) == '*' && peek_byte(lx, 1) == '/') {
			lx->pos += 2;
			return 0;
		}
	}
	return expr_error_at(lx, lx->text.n, "unclosed comment");
}

static int skip_blank(struct expr_lexer *lx)
{
	for (;;) {
		int c = peek_byte(lx, 0);
		uint32_t cp;
		if (c >= 0 && ascii_isspace((char)c)) {
			lx->pos++;
		} else if (c == '/' && (peek_byte(lx, 1) == '/' || peek_byte(lx, 1) == '*')) {
			int r = skip_comment(lx);
			if (r < 0)
				return r;
		} else if (c >= 0x80) {
			size_t n = utf8_decode(slice_from(lx->text, lx->pos), &cp);
			if (n == 0 || !wide_space(cp))
				return 0;
			lx->pos += n;
		} else {
			return 0;
		}
	}
}

/* Reads `count` digits of a base; -1 when there are fewer. */
static int64_t read_digits(struct expr_lexer *lx, int count, int base)
{
	int64_t v = 0;
	for (int i = 0; i < count; i++, lx->pos++) {
		int d = ascii_hex_value(peek_byte(lx, 0));
		if (d < 0 || d >= base)
			return -1;
		v = v * base + d;
	}
	return v;
}

/* \u{1F600} */
static int64_t read_braced(struct expr_lexer *lx)
{
	int64_t v = 0;
	int n = 0;
	for (lx->pos++; peek_byte(lx, 0) != '}'; lx->pos++, n++) {
		int d = ascii_hex_value(peek_byte(lx, 0));
		if (d < 0 || n >= 6)
			return -1;
		v = v << 4 | d;
	}
	lx->pos++;
	return n != 0 ? v : -1;
}

static int64_t escape_number(struct expr_lexer *lx, int ch, bool bytes)
{
	if (ch == 'x')
		return read_digits(lx, 2, 16);
	if (ch >= '0' && ch <= '3') {
		lx->pos--;
		return read_digits(lx, 3, 8);
	}
	if (bytes)
		return -1;
	if (ch == 'u')
		return peek_byte(lx, 0) == '{' ? read_braced(lx) : read_digits(lx, 4, 16);
	if (ch == 'U')
		return read_digits(lx, 8, 16);
	return -1;
}

/* One escape sequence, after the backslash, into `out`; bytes written or a negative code. */
static int read_escape(struct expr_lexer *lx, char quote, bool bytes, char out[4])
{
	static const char from[] = "abfnrtv\\", to[] = "\a\b\f\n\r\t\v\\";
	size_t at = lx->pos;
	int c = peek_byte(lx, 0);
	if (c < 0)
		return expr_error_at(lx, lx->text.n, "literal not terminated");
	lx->pos++;
	const char *simple = c != 0 ? strchr(from, c) : NULL;
	if (simple != NULL || c == quote) {
		out[0] = simple != NULL ? to[simple - from] : quote;
		return 1;
	}
	int64_t v = escape_number(lx, c, bytes);
	if (v < 0 || v > 0x10ffff)
		return expr_error_at(lx, at, "invalid char escape");
	if (bytes) {
		out[0] = (char)(unsigned char)v;
		return 1;
	}
	return (int)utf8_encode((uint32_t)v, out);
}

/* Room for a literal that starts at the current quote. No escape sequence is shorter than what it
 * stands for. */
static char *alloc_literal(const struct expr_lexer *lx, char quote)
{
	size_t n = 1;
	while (lx->pos + n < lx->text.n && lx->text.p[lx->pos + n] != quote)
		n += lx->text.p[lx->pos + n] == '\\' ? 2 : 1;
	return arena_alloc(lx->arena, n + 4);
}

static int lex_quoted(struct expr_lexer *lx, bool bytes, struct tok *ret)
{
	char quote = lx->text.p[lx->pos];
	char *out = alloc_literal(lx, quote);
	size_t n = 0;
	lx->pos++;
	for (;;) {
		int c = peek_byte(lx, 0);
		if (c < 0 || c == '\n')
			return expr_error_at(lx, c < 0 ? lx->text.n : lx->pos,
					     "literal not terminated");
		lx->pos++;
		if (c == quote)
			break;
		if (c != '\\') {
			out[n++] = c == '\r' ? '\n' : (char)c;
			continue;
		}
		int r = read_escape(lx, quote, bytes, out + n);
		if (r < 0)
			return r;
		n += (size_t)r;
	}
	ret->kind = bytes ? TOK_BYTES : TOK_STRING;
	ret->val = (struct slice){ out, n };
	return 0;
}

/* Between backticks nothing is special; two of them stand for one. */
static int lex_raw(struct expr_lexer *lx, struct tok *ret)
{
	size_t start = lx->pos, n = 0;
	for (lx->pos++;; lx->pos++) {
		int c = peek_byte(lx, 0);
		if (c < 0)
			return expr_error_at(lx, lx->text.n, "literal not terminated");
		if (c == '`') {
			if (peek_byte(lx, 1) != '`')
				break;
			lx->pos++;
		}
	}
	char *out = arena_alloc(lx->arena, lx->pos - start);
	for (size_t i = start + 1; i < lx->pos; i++) {
		out[n++] = lx->text.p[i];
		if (lx->text.p[i] == '`')
			i++;
	}
	lx->pos++;
	ret->kind = TOK_STRING;
	ret->val = (struct slice){ out, n };
	return 0;
}

static int lex_number(struct expr_lexer *lx, struct tok *ret)
{
	const char *set = "0123456789_";
	size_t start = lx->pos;
	if (accept_char(lx, "0")) {
		if (accept_char(lx, "xX"))
			set = "0123456789abcdefABCDEF_";
		else if (accept_char(lx, "oO"))
			set = "01234567_";
		else if (accept_char(lx, "bB"))
			set = "01_";
	}
	while (accept_char(lx, set)) {
	}
	if (peek_byte(lx, 0) == '.' && peek_byte(lx, 1) == '.')
		goto done; /* 1..2 */
	if (accept_char(lx, "."))
		while (accept_char(lx, set)) {
		}
	if (accept_char(lx, "eE")) {
		accept_char(lx, "+-");
		while (accept_char(lx, set)) {
		}
	}
	if (name_char(lx) != 0) {
		size_t n = lx->pos - start + name_char(lx);
		return expr_error_at(lx, lx->pos, "bad number syntax: \"%.*s\"", (int)MIN(n, 100U),
				     lx->text.p + start);
	}
done:
	ret->kind = TOK_NUMBER;
	ret->val = (struct slice){ lx->text.p + start, lx->pos - start };
	return 0;
}

static bool is_word_op(struct slice text)
{
	for (size_t i = 0; i < ARRAY_LEN(word_ops); i++) {
		if (slice_is(text, word_ops[i]))
			return true;
	}
	return false;
}

static void lex_name(struct expr_lexer *lx, struct tok *ret)
{
	size_t start = lx->pos, n;
	while ((n = name_char(lx)) != 0)
		lx->pos += n;
	ret->val = (struct slice){ lx->text.p + start, lx->pos - start };
	ret->kind = is_word_op(ret->val) && !lx->after_hash ? TOK_OP : TOK_IDENT;
}

static int lex_operator(struct expr_lexer *lx, struct tok *ret)
{
	/* Each row: first characters, and what may follow them in the same operator. */
	static const char *const rows[][2] = {
		{ ",;%+-^/", "" }, { "&!=*<>", "&=*" }, { "|", "|" }, { ":", ":" },
		{ "?", ".?" },	   { "#", "#" },	{ ".", "." },
	};
	size_t start = lx->pos;
	char c = lx->text.p[lx->pos];
	ret->kind = TOK_OP;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (c == '\0' || strchr(rows[i][0], c) == NULL)
			continue;
		lx->pos++;
		accept_char(lx, rows[i][1]);
		ret->val = (struct slice){ lx->text.p + start, lx->pos - start };
		return 0;
	}
	uint32_t cp = (unsigned char)c;
	size_t n = utf8_decode(slice_from(lx->text, lx->pos), &cp);
	if (n == 0)
		return expr_error_at(lx, start, "unrecognized character: U+FFFD");
	if (cp < 0x20 || cp == 0x7f)
		return expr_error_at(lx, start, "unrecognized character: U+%04X", cp);
	return expr_error_at(lx, start, "unrecognized character: U+%04X '%.*s'", cp, (int)n,
			     lx->text.p + start);
}

/* The end of the text counts as its last character. */
static int lex_end(struct expr_lexer *lx, struct tok *ret)
{
	size_t at = lx->text.n;
	while (at > 0 && ((unsigned char)lx->text.p[--at] & 0xc0) == 0x80) {
	}
	*ret = (struct tok){ .kind = TOK_EOF, .at = (uint32_t)at };
	return 0;
}

int expr_lex(struct expr_lexer *lx, struct tok *ret)
{
	if (!lx->after_hash || name_char(lx) == 0) {
		lx->after_hash = false;
		int r = skip_blank(lx);
		if (r < 0)
			return r;
	}
	*ret = (struct tok){ .at = (uint32_t)lx->pos };
	int c = peek_byte(lx, 0), d = peek_byte(lx, 1);
	if (c < 0)
		return lex_end(lx, ret);
	if (lx->after_hash || (name_char(lx) != 0 && !ascii_isdigit((char)c))) {
		if ((c == 'b' || c == 'B') && (d == '\'' || d == '"') && !lx->after_hash) {
			lx->pos++;
			return lex_quoted(lx, true, ret);
		}
		lex_name(lx, ret);
		lx->after_hash = false;
		return 0;
	}
	if (c == '\'' || c == '"')
		return lex_quoted(lx, false, ret);
	if (c == '`')
		return lex_raw(lx, ret);
	if (ascii_isdigit((char)c) || (c == '.' && d >= '0' && d <= '9'))
		return lex_number(lx, ret);
	if (strchr("([{)]}", c) != NULL && c != 0) {
		ret->kind = TOK_BRACKET;
		ret->val = (struct slice){ lx->text.p + lx->pos++, 1 };
		return 0;
	}
	int r = lex_operator(lx, ret);
	lx->after_hash = r == 0 && ret->val.p[0] == '#';
	return r;
}
