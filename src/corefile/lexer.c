/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cuts a Corefile into tokens. White space separates them; a `"` at the start of a token quotes up
 * to the next `"`, over lines if need be, and only `\"` is an escape. A `#` drops the rest of the
 * line, or in the middle of a token the rest of that token. */
#include "corefile/lexer_priv.h"

#include "base/err.h"
#include "base/strbuf.h"
#include "base/text/utf8.h"
#include "base/vec.h"
#include "corefile/corefile.h"

enum { BYTE_ORDER_MARK = 0xFEFF, REPLACEMENT = 0xFFFD };

struct lexer {
	struct arena *a;
	struct slice rest;
	struct srcpos pos;  /* of the next character */
	uint32_t cp;	    /* the character just read */
	struct slice bytes; /* its bytes as they go into a token */
	struct strbuf text; /* of the token being read */
	VEC(struct corefile_tok) toks;
	uint32_t last_line; /* on which the last token ended; 0: none yet */
	struct srcerr *err;
};

bool corefile_is_space(uint32_t cp)
{
	if (cp < 0x80)
		return ascii_isspace((char)cp);
	return cp == 0x85 || cp == 0xA0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) ||
	       cp == 0x2028 || cp == 0x2029 || cp == 0x202F || cp == 0x205F || cp == 0x3000;
}

/* Reads one character: false at the end. */
static bool read_char(struct lexer *lexer)
{
	if (lexer->rest.n == 0)
		return false;
	size_t n = utf8_decode(lexer->rest, &lexer->cp);
	lexer->bytes = (struct slice){ lexer->rest.p, n };
	if (n == 0) {
		n = 1;
		lexer->cp = REPLACEMENT;
		lexer->bytes = SLICE("\xef\xbf\xbd");
	}
	lexer->rest = slice_from(lexer->rest, n);
	lexer->pos.col++;
	if (lexer->cp == '\n') {
		lexer->pos.line++;
		lexer->pos.col = 1;
	}
	return true;
}

static int add_token(struct lexer *lexer, struct srcpos at, bool quoted)
{
	if (lexer->toks.n >= COREFILE_MAX_TOKENS) {
		IGNORE(srcerr_set(lexer->err, at, "more than %d words in one file",
				  COREFILE_MAX_TOKENS));
		return ERR_LIMIT;
	}
	if (memchr(lexer->text.s, '\0', lexer->text.n) != NULL)
		return srcerr_set(lexer->err, at, "unexpected NUL byte in a word, expected text");
	vec_push(&lexer->toks,
		 (struct corefile_tok){
			 .w = { arena_strndup(lexer->a, lexer->text.s, lexer->text.n), at },
			 .quoted = quoted,
			 .bol = at.line > lexer->last_line,
		 });
	lexer->last_line = at.line;
	for (size_t i = 0; i < lexer->text.n; i++)
		lexer->last_line += lexer->text.s[i] == '\n';
	return 0;
}

/* The opening quote has been read. A quote that is never closed ends with the file; as in CoreDNS
 * nothing comes of it when it holds no character. */
static int lex_quoted(struct lexer *lexer, struct srcpos at)
{
	bool escaped = false;
	strbuf_reset(&lexer->text);
	while (read_char(lexer)) {
		if (!escaped && lexer->cp == '"')
			return add_token(lexer, at, true);
		if (!escaped && lexer->cp == '\\') {
			escaped = true;
			continue;
		}
		if (escaped && lexer->cp != '"')
			strbuf_addc(&lexer->text, '\\');
		escaped = false;
		strbuf_add_slice(&lexer->text, lexer->bytes);
	}
	return lexer->text.n > 0 ? add_token(lexer, at, true) : 0;
}

/* The first character has been read and belongs to the token. */
static int lex_plain(struct lexer *lexer, struct srcpos at)
{
	bool comment = false;
	strbuf_reset(&lexer->text);
	do {
		if (lexer->cp == '\r')
			continue;
		if (corefile_is_space(lexer->cp))
			break;
		if (lexer->cp == '#')
			comment = true;
		if (!comment)
			strbuf_add_slice(&lexer->text, lexer->bytes);
	} while (read_char(lexer));
	return add_token(lexer, at, false);
}

static int lex_all(struct lexer *lexer)
{
	struct lexer start = *lexer;
	if (read_char(lexer) && lexer->cp != BYTE_ORDER_MARK)
		*lexer = start;
	lexer->pos = start.pos;
	bool comment = false;
	for (;;) {
		struct srcpos at = lexer->pos;
		if (!read_char(lexer))
			return 0;
		if (corefile_is_space(lexer->cp)) {
			if (lexer->cp == '\n')
				comment = false;
			continue;
		}
		if (lexer->cp == '#')
			comment = true;
		if (comment)
			continue;
		int r = lexer->cp == '"' ? lex_quoted(lexer, at) : lex_plain(lexer, at);
		if (r < 0)
			return r;
	}
}

int corefile_lex(struct arena *arena, const char *file, struct slice text,
		 struct corefile_toks *ret, struct srcerr *reterr)
{
	struct lexer l = { .a = arena, .rest = text, .pos = { file, 1, 1 }, .err = reterr };
	strbuf_init(&l.text);
	int r = lex_all(&l);
	if (r == 0) {
		ret->v = arena_memdup(arena, l.toks.v, l.toks.n * sizeof(*l.toks.v));
		ret->n = l.toks.n;
	}
	strbuf_done(&l.text);
	vec_done(&l.toks);
	return r;
}
