/* Cuts a template text into tokens: plain text, and inside {{ }} the words and signs, where blanks
 * are tokens too because they separate arguments. Trim markers and comments end here. */
#include "tmpl/tmpl_priv.h"

#include "base/utf8.h"

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

static struct slice rest(const struct lexer *l)
{
	return slice_from(l->text, l->pos);
}

static bool at(const struct lexer *l, struct slice what)
{
	return slice_starts(rest(l), what);
}

static uint32_t peek(const struct lexer *l, size_t *ret_n)
{
	uint32_t cp = 0xfffd;
	struct slice r = rest(l);
	if (r.n == 0) {
		*ret_n = 0;
		return END;
	}
	*ret_n = utf8_decode(r, &cp);
	if (*ret_n == 0)
		*ret_n = 1;
	return cp;
}

static uint32_t next(struct lexer *l)
{
	size_t n;
	uint32_t cp = peek(l, &n);
	l->pos += n;
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

static bool peek_is_word(const struct lexer *l)
{
	size_t n;
	return is_word(peek(l, &n));
}

static bool emit(struct lexer *l, enum tok type)
{
	struct slice val = { l->text.p + l->start, l->pos - l->start };
	vec_push(l->toks, (struct token){ type, (uint32_t)l->start, val });
	l->start = l->pos;
	return true;
}

/* An error ends the token list; what follows is never looked at. `tail` may be empty. */
static bool fail(struct lexer *l, const char *what, struct slice tail)
{
	struct strbuf b = STRBUF_INIT;
	strbuf_adds(&b, what);
	strbuf_add_slice(&b, tail);
	struct slice val = { arena_strndup(l->arena, b.s, b.n), b.n };
	vec_push(l->toks, (struct token){ TOK_ERROR, (uint32_t)l->start, val });
	strbuf_done(&b);
	return false;
}

static bool fail_char(struct lexer *l, const char *what, uint32_t cp)
{
	char buf[32];
	struct tmpl_out o = { .p = buf, .cap = sizeof(buf) };
	if (cp == END) /* how Go prints the -1 it has for the end */
		tmpl_out_s(&o, "U+FFFFFFFFFFFFFFFF");
	else
		tmpl_out_codepoint(&o, cp);
	return fail(l, what, (struct slice){ buf, o.n });
}

static size_t space_prefix(struct slice s)
{
	size_t n = 0;
	while (n < s.n && is_space((unsigned char)s.p[n]))
		n++;
	return n;
}

static bool has_left_marker(struct slice s)
{
	return s.n >= 2 && s.p[0] == '-' && is_space((unsigned char)s.p[1]);
}

/* At "}}" or at " -}}"; `ret_trim` says which. */
static bool at_right(const struct lexer *l, bool *ret_trim)
{
	struct slice r = rest(l);
	*ret_trim = r.n >= 4 && is_space((unsigned char)r.p[0]) &&
		    slice_starts(slice_from(r, 1), SLICE("-}}"));
	return *ret_trim || slice_starts(r, SLICE("}}"));
}

static void skip_right(struct lexer *l, bool trim)
{
	l->pos += trim ? 4 : 2;
	if (trim)
		l->pos += space_prefix(rest(l));
	l->start = l->pos;
}

static bool lex_comment(struct lexer *l)
{
	bool trim;
	l->pos += 2;
	struct slice r = rest(l);
	const char *end = r.n != 0 ? memmem(r.p, r.n, "*/", 2) : NULL;
	if (end == NULL)
		return fail(l, "unclosed comment", SLICE(""));
	l->pos += (size_t)(end - r.p) + 2;
	if (!at_right(l, &trim))
		return fail(l, "comment ends before closing delimiter", SLICE(""));
	skip_right(l, trim);
	return true;
}

/* Text up to the next "{{"; false at the end of the input. */
static bool lex_text(struct lexer *l)
{
	struct slice r = rest(l);
	const char *left = r.n != 0 ? memmem(r.p, r.n, "{{", 2) : NULL;
	if (left == NULL) {
		l->pos = l->text.n;
		if (l->pos > l->start)
			emit(l, TOK_TEXT);
		emit(l, TOK_EOF);
		return false;
	}
	size_t n = (size_t)(left - r.p);
	size_t keep = n;
	if (has_left_marker(slice_from(r, n + 2))) {
		while (keep > 0 && is_space((unsigned char)r.p[keep - 1]))
			keep--;
	}
	l->pos += keep;
	if (keep > 0)
		emit(l, TOK_TEXT);
	l->pos += n - keep;
	l->start = l->pos;
	return true;
}

static bool lex_quoted(struct lexer *l, uint32_t quote, enum tok type, const char *unterminated)
{
	for (;;) {
		uint32_t cp = next(l);
		if (cp == '\\') {
			cp = next(l);
			if (cp != END && cp != '\n')
				continue;
		}
		if (cp == END || cp == '\n')
			return fail(l, unterminated, SLICE(""));
		if (cp == quote)
			return emit(l, type);
	}
}

static bool lex_raw(struct lexer *l)
{
	ptrdiff_t end = slice_find(rest(l), '`');
	if (end < 0)
		return fail(l, "unterminated raw quoted string", SLICE(""));
	l->pos += (size_t)end + 1;
	return emit(l, TOK_RAW_STRING);
}

static bool accept(struct lexer *l, const char *set)
{
	if (l->pos >= l->text.n || l->text.p[l->pos] == '\0' ||
	    strchr(set, l->text.p[l->pos]) == NULL)
		return false;
	l->pos++;
	return true;
}

static void accept_run(struct lexer *l, const char *set)
{
	while (accept(l, set)) {
	}
}

static bool scan_number(struct lexer *l)
{
	static const char dec[] = "0123456789_", hex[] = "0123456789abcdefABCDEF_";
	const char *digits = dec;
	accept(l, "+-");
	if (accept(l, "0"))
		digits = accept(l, "xX")   ? hex
			 : accept(l, "oO") ? "01234567_"
			 : accept(l, "bB") ? "01_"
					   : dec;
	accept_run(l, digits);
	if (accept(l, "."))
		accept_run(l, digits);
	if ((digits == dec && accept(l, "eE")) || (digits == hex && accept(l, "pP"))) {
		accept(l, "+-");
		accept_run(l, dec);
	}
	accept(l, "i");
	if (!peek_is_word(l))
		return true;
	next(l);
	return false;
}

static bool lex_number(struct lexer *l)
{
	bool good = scan_number(l), is_complex = false;
	if (good && l->pos < l->text.n && (l->text.p[l->pos] == '+' || l->text.p[l->pos] == '-')) {
		is_complex = true;
		good = scan_number(l) && l->text.p[l->pos - 1] == 'i';
	}
	if (good)
		return emit(l, is_complex ? TOK_COMPLEX : TOK_NUMBER);
	char buf[128];
	struct tmpl_out o = { .p = buf, .cap = sizeof(buf) };
	tmpl_out_quote(&o, (struct slice){ l->text.p + l->start, l->pos - l->start }, false);
	return fail(l, "bad number syntax: ", (struct slice){ buf, o.n });
}

/* What may follow a word, so that "$x+2" stays free for a later meaning. */
static bool at_terminator(const struct lexer *l)
{
	size_t n;
	uint32_t cp = peek(l, &n);
	if (cp == END || is_space(cp))
		return true;
	return (cp < 0x80 && cp != 0 && strchr(".,|:)(", (int)cp) != NULL) || at(l, SLICE("}}"));
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
static bool lex_word(struct lexer *l, enum tok type)
{
	size_t n;
	while (peek_is_word(l))
		next(l);
	if (!at_terminator(l))
		return fail_char(l, "bad character ", peek(l, &n));
	struct slice word = { l->text.p + l->start, l->pos - l->start };
	if (type == TOK_VAR)
		return emit(l, type);
	return emit(l, word_type(word, type));
}

static bool lex_spaces(struct lexer *l)
{
	bool trim;
	while (l->pos < l->text.n && is_space((unsigned char)l->text.p[l->pos])) {
		/* The last blank may belong to a trim marker. */
		if (at_right(l, &trim))
			break;
		l->pos++;
	}
	return l->pos > l->start ? emit(l, TOK_SPACE) : true;
}

static bool lex_paren(struct lexer *l, bool open)
{
	if (open)
		l->parens++;
	else if (l->parens-- == 0)
		return fail(l, "unexpected right paren", SLICE(""));
	return emit(l, open ? TOK_LPAREN : TOK_RPAREN);
}

static bool lex_sign(struct lexer *l, uint32_t cp)
{
	switch (cp) {
	case '=':
		return emit(l, TOK_ASSIGN);
	case ':':
		if (next(l) != '=')
			return fail(l, "expected :=", SLICE(""));
		return emit(l, TOK_DECLARE);
	case '|':
		return emit(l, TOK_PIPE);
	case '(':
	case ')':
		return lex_paren(l, cp == '(');
	default:
		if (cp >= ' ' && cp < 0x7f)
			return emit(l, TOK_CHAR);
		return fail_char(l, "unrecognized character in action: ", cp);
	}
}

static bool is_digit(uint32_t cp)
{
	return cp >= '0' && cp <= '9';
}

static bool lex_in_action(struct lexer *l)
{
	size_t n;
	uint32_t cp = next(l);
	switch (cp) {
	case END:
		return fail(l, "unclosed action", SLICE(""));
	case '"':
		return lex_quoted(l, '"', TOK_STRING, "unterminated quoted string");
	case '\'':
		return lex_quoted(l, '\'', TOK_CHAR_CONST, "unterminated character constant");
	case '`':
		return lex_raw(l);
	case '$':
		return lex_word(l, TOK_VAR);
	default:
		break;
	}
	if (cp == '.' && l->pos < l->text.n && !is_digit(peek(l, &n)))
		return lex_word(l, TOK_FIELD);
	if (is_space(cp) || cp == '.' || cp == '+' || cp == '-' || is_digit(cp)) {
		l->pos = l->start;
		return is_space(cp) ? lex_spaces(l) : lex_number(l);
	}
	return is_word(cp) ? lex_word(l, TOK_IDENT) : lex_sign(l, cp);
}

/* From "{{" to "}}" or, for a comment, to its end. */
static bool lex_action(struct lexer *l)
{
	bool trim;
	l->pos += 2;
	size_t marker = has_left_marker(rest(l)) ? 2 : 0;
	if (slice_starts(slice_from(rest(l), marker), SLICE("/*"))) {
		l->pos += marker;
		l->start = l->pos;
		return lex_comment(l);
	}
	emit(l, TOK_LEFT);
	l->pos += marker;
	l->start = l->pos;
	l->parens = 0;
	while (!at_right(l, &trim)) {
		if (!lex_in_action(l))
			return false;
	}
	if (l->parens > 0)
		return fail(l, "unclosed left paren", SLICE(""));
	struct slice sign = slice_from(rest(l), trim ? 2 : 0);
	sign.n = 2;
	vec_push(l->toks, (struct token){ TOK_RIGHT, (uint32_t)(sign.p - l->text.p), sign });
	skip_right(l, trim);
	return true;
}

void tmpl_lex(struct slice text, struct arena *a, struct tokens *ret)
{
	struct lexer l = { .text = text, .arena = a, .toks = ret };
	while (lex_text(&l) && lex_action(&l)) {
	}
}
