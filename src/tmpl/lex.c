/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cuts a template text into tokens: plain text, and inside {{ }} the words and signs, where blanks
 * are tokens too because they separate arguments. Trim markers and comments end here. */
#include "tmpl/lex_priv.h"

#include "tmpl/tmpl_priv.h"

#include "base/text/utf8.h"
#include "tmpl/charset_priv.h"
#include "tmpl/out_priv.h"

struct lexer {
	struct slice text;
	size_t pos;
	size_t start; /* of the token being read */
	unsigned parens;
	struct arena *arena;
	struct tokens *toks;
};

/* Instead of a character. */
#define END UINT32_MAX

static const struct {
	const char *word;
	enum tok type;
} keywords[] = {
	{ ".", TOK_DOT },
	{ "block", TOK_BLOCK },
	{ "break", TOK_BREAK },
	{ "continue", TOK_CONTINUE },
	{ "define", TOK_DEFINE },
	{ "else", TOK_ELSE },
	{ "end", TOK_END },
	{ "if", TOK_IF },
	{ "nil", TOK_NIL },
	{ "range", TOK_RANGE },
	{ "template", TOK_TEMPLATE },
	{ "with", TOK_WITH },
	{ "true", TOK_BOOL },
	{ "false", TOK_BOOL },
};

static struct slice rest_of(const struct lexer *lexer)
{
	return slice_from(lexer->text, lexer->pos);
}

static bool is_at(const struct lexer *lexer, struct slice what)
{
	return slice_starts(rest_of(lexer), what);
}

static uint32_t peek_char(const struct lexer *lexer, size_t *ret_n)
{
	uint32_t cp = 0xfffd;
	struct slice r = rest_of(lexer);
	if (r.n == 0) {
		*ret_n = 0;
		return END;
	}
	*ret_n = utf8_decode(r, &cp);
	if (*ret_n == 0)
		*ret_n = 1;
	return cp;
}

static uint32_t next_char(struct lexer *lexer)
{
	size_t n;
	uint32_t cp = peek_char(lexer, &n);
	lexer->pos += n;
	return cp;
}

static bool is_space(uint32_t cp)
{
	return cp == ' ' || cp == '\t' || cp == '\r' || cp == '\n';
}

static bool is_word(uint32_t cp)
{
	return cp == '_' || (cp >= '0' && cp <= '9') || (cp != END && tmpl_is_letter(cp));
}

static bool peek_is_word(const struct lexer *lexer)
{
	size_t n;
	return is_word(peek_char(lexer, &n));
}

static bool emit_token(struct lexer *lexer, enum tok type)
{
	struct slice val = { lexer->text.p + lexer->start, lexer->pos - lexer->start };
	vec_push(lexer->toks, (struct token){ type, (uint32_t)lexer->start, val });
	lexer->start = lexer->pos;
	return true;
}

/* An error ends the token list; what follows is never looked at. `tail` may be empty. */
static bool fail_with(struct lexer *lexer, const char *what, struct slice tail)
{
	struct strbuf b = STRBUF_INIT;
	strbuf_adds(&b, what);
	strbuf_add_slice(&b, tail);
	struct slice val = { arena_strndup(lexer->arena, b.s, b.n), b.n };
	vec_push(lexer->toks, (struct token){ TOK_ERROR, (uint32_t)lexer->start, val });
	strbuf_done(&b);
	return false;
}

static bool fail_char(struct lexer *lexer, const char *what, uint32_t cp)
{
	char buf[32];
	struct tmpl_out o = { .p = buf, .cap = sizeof(buf) };
	if (cp == END) /* how Go prints the -1 it has for the end */
		tmpl_out_s(&o, "U+FFFFFFFFFFFFFFFF");
	else
		tmpl_out_codepoint(&o, cp);
	return fail_with(lexer, what, (struct slice){ buf, o.n });
}

static size_t space_prefix(struct slice text)
{
	size_t n = 0;
	while (n < text.n && is_space((unsigned char)text.p[n]))
		n++;
	return n;
}

static bool has_left_marker(struct slice text)
{
	return text.n >= 2 && text.p[0] == '-' && is_space((unsigned char)text.p[1]);
}

/* At "}}" or at " -}}"; `ret_trim` says which. */
static bool at_right(const struct lexer *lexer, bool *ret_trim)
{
	struct slice r = rest_of(lexer);
	*ret_trim = r.n >= 4 && is_space((unsigned char)r.p[0]) &&
		    slice_starts(slice_from(r, 1), SLICE("-}}"));
	return *ret_trim || slice_starts(r, SLICE("}}"));
}

static void skip_right(struct lexer *lexer, bool trim)
{
	lexer->pos += trim ? 4 : 2;
	if (trim)
		lexer->pos += space_prefix(rest_of(lexer));
	lexer->start = lexer->pos;
}

static bool lex_comment(struct lexer *lexer)
{
	bool trim;
	lexer->pos += 2;
	struct slice r = rest_of(lexer);
	const char *end = r.n != 0 ? memmem(r.p, r.n, "*/", 2) : NULL;
	if (end == NULL)
		return fail_with(lexer, "unclosed comment", SLICE(""));
	lexer->pos += (size_t)(end - r.p) + 2;
	if (!at_right(lexer, &trim))
		return fail_with(lexer, "comment ends before closing delimiter", SLICE(""));
	skip_right(lexer, trim);
	return true;
}

/* Text up to the next "{{"; false at the end of the input. */
static bool lex_text(struct lexer *lexer)
{
	struct slice r = rest_of(lexer);
	const char *left = r.n != 0 ? memmem(r.p, r.n, "{{", 2) : NULL;
	if (left == NULL) {
		lexer->pos = lexer->text.n;
		if (lexer->pos > lexer->start)
			emit_token(lexer, TOK_TEXT);
		emit_token(lexer, TOK_EOF);
		return false;
	}
	size_t n = (size_t)(left - r.p);
	size_t keep = n;
	if (has_left_marker(slice_from(r, n + 2))) {
		while (keep > 0 && is_space((unsigned char)r.p[keep - 1]))
			keep--;
	}
	lexer->pos += keep;
	if (keep > 0)
		emit_token(lexer, TOK_TEXT);
	lexer->pos += n - keep;
	lexer->start = lexer->pos;
	return true;
}

static bool lex_quoted(struct lexer *lexer, uint32_t quote, enum tok type, const char *unterminated)
{
	for (;;) {
		uint32_t cp = next_char(lexer);
		if (cp == '\\') {
			cp = next_char(lexer);
			if (cp != END && cp != '\n')
				continue;
		}
		if (cp == END || cp == '\n')
			return fail_with(lexer, unterminated, SLICE(""));
		if (cp == quote)
			return emit_token(lexer, type);
	}
}

static bool lex_raw(struct lexer *lexer)
{
	ptrdiff_t end = slice_find(rest_of(lexer), '`');
	if (end < 0)
		return fail_with(lexer, "unterminated raw quoted string", SLICE(""));
	lexer->pos += (size_t)end + 1;
	return emit_token(lexer, TOK_RAW_STRING);
}

static bool accept_char(struct lexer *lexer, const char *set)
{
	if (lexer->pos >= lexer->text.n || lexer->text.p[lexer->pos] == '\0' ||
	    strchr(set, lexer->text.p[lexer->pos]) == NULL)
		return false;
	lexer->pos++;
	return true;
}

static void accept_run(struct lexer *lexer, const char *set)
{
	while (accept_char(lexer, set)) {
	}
}

static bool scan_number(struct lexer *lexer)
{
	static const char dec[] = "0123456789_", hex[] = "0123456789abcdefABCDEF_";
	const char *digits = dec;
	accept_char(lexer, "+-");
	if (accept_char(lexer, "0"))
		digits = accept_char(lexer, "xX")   ? hex
			 : accept_char(lexer, "oO") ? "01234567_"
			 : accept_char(lexer, "bB") ? "01_"
						    : dec;
	accept_run(lexer, digits);
	if (accept_char(lexer, "."))
		accept_run(lexer, digits);
	if ((digits == dec && accept_char(lexer, "eE")) ||
	    (digits == hex && accept_char(lexer, "pP"))) {
		accept_char(lexer, "+-");
		accept_run(lexer, dec);
	}
	accept_char(lexer, "i");
	if (!peek_is_word(lexer))
		return true;
	next_char(lexer);
	return false;
}

static bool lex_number(struct lexer *lexer)
{
	bool good = scan_number(lexer), is_complex = false;
	if (good && lexer->pos < lexer->text.n &&
	    (lexer->text.p[lexer->pos] == '+' || lexer->text.p[lexer->pos] == '-')) {
		is_complex = true;
		good = scan_number(lexer) && lexer->text.p[lexer->pos - 1] == 'i';
	}
	if (good)
		return emit_token(lexer, is_complex ? TOK_COMPLEX : TOK_NUMBER);
	char buf[128];
	struct tmpl_out o = { .p = buf, .cap = sizeof(buf) };
	tmpl_out_quote(&o,
		       (struct slice){ lexer->text.p + lexer->start, lexer->pos - lexer->start },
		       false);
	return fail_with(lexer, "bad number syntax: ", (struct slice){ buf, o.n });
}

/* What may follow a word, so that "$x+2" stays free for a later meaning. */
static bool at_terminator(const struct lexer *lexer)
{
	size_t n;
	uint32_t cp = peek_char(lexer, &n);
	if (cp == END || is_space(cp))
		return true;
	return (cp < 0x80 && cp != 0 && strchr(".,|:)(", (int)cp) != NULL) ||
	       is_at(lexer, SLICE("}}"));
}

static enum tok word_type(struct slice word, enum tok otherwise)
{
	for (size_t i = 0; i < ARRAY_LEN(keywords); i++) {
		if (slice_is(word, keywords[i].word))
			return keywords[i].type;
	}
	return otherwise;
}

/* A word, a field (its dot is read already) or a variable (its dollar is). */
static bool lex_word(struct lexer *lexer, enum tok type)
{
	size_t n;
	while (peek_is_word(lexer))
		next_char(lexer);
	if (!at_terminator(lexer))
		return fail_char(lexer, "bad character ", peek_char(lexer, &n));
	struct slice word = { lexer->text.p + lexer->start, lexer->pos - lexer->start };
	if (type == TOK_VAR)
		return emit_token(lexer, type);
	return emit_token(lexer, word_type(word, type));
}

static bool lex_spaces(struct lexer *lexer)
{
	bool trim;
	while (lexer->pos < lexer->text.n && is_space((unsigned char)lexer->text.p[lexer->pos])) {
		/* The last blank may belong to a trim marker. */
		if (at_right(lexer, &trim))
			break;
		lexer->pos++;
	}
	return lexer->pos > lexer->start ? emit_token(lexer, TOK_SPACE) : true;
}

static bool lex_paren(struct lexer *lexer, bool open)
{
	if (open)
		lexer->parens++;
	else if (lexer->parens-- == 0)
		return fail_with(lexer, "unexpected right paren", SLICE(""));
	return emit_token(lexer, open ? TOK_LPAREN : TOK_RPAREN);
}

static bool lex_sign(struct lexer *lexer, uint32_t cp)
{
	switch (cp) {
	case '=':
		return emit_token(lexer, TOK_ASSIGN);
	case ':':
		if (next_char(lexer) != '=')
			return fail_with(lexer, "expected :=", SLICE(""));
		return emit_token(lexer, TOK_DECLARE);
	case '|':
		return emit_token(lexer, TOK_PIPE);
	case '(':
	case ')':
		return lex_paren(lexer, cp == '(');
	default:
		if (cp >= ' ' && cp < 0x7f)
			return emit_token(lexer, TOK_CHAR);
		return fail_char(lexer, "unrecognized character in action: ", cp);
	}
}

static bool is_digit(uint32_t cp)
{
	return cp >= '0' && cp <= '9';
}

static bool lex_in_action(struct lexer *lexer)
{
	size_t n;
	uint32_t cp = next_char(lexer);
	switch (cp) {
	case END:
		return fail_with(lexer, "unclosed action", SLICE(""));
	case '"':
		return lex_quoted(lexer, '"', TOK_STRING, "unterminated quoted string");
	case '\'':
		return lex_quoted(lexer, '\'', TOK_CHAR_CONST, "unterminated character constant");
	case '`':
		return lex_raw(lexer);
	case '$':
		return lex_word(lexer, TOK_VAR);
	default:
		break;
	}
	if (cp == '.' && lexer->pos < lexer->text.n && !is_digit(peek_char(lexer, &n)))
		return lex_word(lexer, TOK_FIELD);
	if (is_space(cp) || cp == '.' || cp == '+' || cp == '-' || is_digit(cp)) {
		lexer->pos = lexer->start;
		return is_space(cp) ? lex_spaces(lexer) : lex_number(lexer);
	}
	return is_word(cp) ? lex_word(lexer, TOK_IDENT) : lex_sign(lexer, cp);
}

/* From "{{" to "}}" or, for a comment, to its end. */
static bool lex_action(struct lexer *lexer)
{
	bool trim;
	lexer->pos += 2;
	size_t marker = has_left_marker(rest_of(lexer)) ? 2 : 0;
	if (slice_starts(slice_from(rest_of(lexer), marker), SLICE("/*"))) {
		lexer->pos += marker;
		lexer->start = lexer->pos;
		return lex_comment(lexer);
	}
	emit_token(lexer, TOK_LEFT);
	lexer->pos += marker;
	lexer->start = lexer->pos;
	lexer->parens = 0;
	while (!at_right(lexer, &trim)) {
		if (!lex_in_action(lexer))
			return false;
	}
	if (lexer->parens > 0)
		return fail_with(lexer, "unclosed left paren", SLICE(""));
	struct slice sign = slice_from(rest_of(lexer), trim ? 2 : 0);
	sign.n = 2;
	vec_push(lexer->toks,
		 (struct token){ TOK_RIGHT, (uint32_t)(sign.p - lexer->text.p), sign });
	skip_right(lexer, trim);
	return true;
}

void tmpl_lex(struct slice text, struct arena *arena, struct tokens *ret)
{
	struct lexer l = { .text = text, .arena = arena, .toks = ret };
	while (lex_text(&l) && lex_action(&l)) {
	}
}
