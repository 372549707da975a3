/* Cuts a Corefile into tokens. White space separates them; a `"` at the start of a token quotes up
 * to the next `"`, over lines if need be, and only `\"` is an escape. A `#` drops the rest of the
 * line, or in the middle of a token the rest of that token. */
#include "corefile/lexer_priv.h"

#include "base/err.h"
#include "base/strbuf.h"
#include "base/utf8.h"
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
static bool read_char(struct lexer *l)
{
	if (l->rest.n == 0)
		return false;
	size_t n = utf8_decode(l->rest, &l->cp);
	l->bytes = (struct slice){ l->rest.p, n };
	if (n == 0) {
		n = 1;
		l->cp = REPLACEMENT;
		l->bytes = SLICE("\xef\xbf\xbd");
	}
	l->rest = slice_from(l->rest, n);
	l->pos.col++;
	if (l->cp == '\n') {
		l->pos.line++;
		l->pos.col = 1;
	}
	return true;
}

static int add_token(struct lexer *l, struct srcpos at, bool quoted)
{
	if (l->toks.n >= COREFILE_MAX_TOKENS) {
		IGNORE(srcerr_set(l->err, at, "more than %d words in one file",
				  COREFILE_MAX_TOKENS));
		return ERR_LIMIT;
	}
	if (memchr(l->text.s, '\0', l->text.n) != NULL)
		return srcerr_set(l->err, at, "unexpected NUL byte in a word, expected text");
	vec_push(&l->toks, (struct corefile_tok){
				   .w = { arena_strndup(l->a, l->text.s, l->text.n), at },
				   .quoted = quoted,
				   .bol = at.line > l->last_line,
			   });
	l->last_line = at.line;
	for (size_t i = 0; i < l->text.n; i++)
		l->last_line += l->text.s[i] == '\n';
	return 0;
}

/* The opening quote has been read. A quote that is never closed ends with the file; as in CoreDNS
 * nothing comes of it when it holds no character. */
static int lex_quoted(struct lexer *l, struct srcpos at)
{
	bool escaped = false;
	strbuf_reset(&l->text);
	while (read_char(l)) {
		if (!escaped && l->cp == '"')
			return add_token(l, at, true);
		if (!escaped && l->cp == '\\') {
			escaped = true;
			continue;
		}
		if (escaped && l->cp != '"')
			strbuf_addc(&l->text, '\\');
		escaped = false;
		strbuf_add_slice(&l->text, l->bytes);
	}
	return l->text.n > 0 ? add_token(l, at, true) : 0;
}

/* The first character has been read and belongs to the token. */
static int lex_plain(struct lexer *l, struct srcpos at)
{
	bool comment = false;
	strbuf_reset(&l->text);
	do {
		if (l->cp == '\r')
			continue;
		if (corefile_is_space(l->cp))
			break;
		if (l->cp == '#')
			comment = true;
		if (!comment)
			strbuf_add_slice(&l->text, l->bytes);
	} while (read_char(l));
	return add_token(l, at, false);
}

static int lex_all(struct lexer *l)
{
	struct lexer start = *l;
	if (read_char(l) && l->cp != BYTE_ORDER_MARK)
		*l = start;
	l->pos = start.pos;
	bool comment = false;
	for (;;) {
		struct srcpos at = l->pos;
		if (!read_char(l))
			return 0;
		if (corefile_is_space(l->cp)) {
			if (l->cp == '\n')
				comment = false;
			continue;
		}
		if (l->cp == '#')
			comment = true;
		if (comment)
			continue;
		int r = l->cp == '"' ? lex_quoted(l, at) : lex_plain(l, at);
		if (r < 0)
			return r;
	}
}

int corefile_lex(struct arena *a, const char *file, struct slice text, struct corefile_toks *ret,
		 struct srcerr *reterr)
{
	struct lexer l = { .a = a, .rest = text, .pos = { file, 1, 1 }, .err = reterr };
	strbuf_init(&l.text);
	int r = lex_all(&l);
	if (r == 0) {
		ret->v = arena_memdup(a, l.toks.v, l.toks.n * sizeof(*l.toks.v));
		ret->n = l.toks.n;
	}
	strbuf_done(&l.text);
	vec_done(&l.toks);
	return r;
}
