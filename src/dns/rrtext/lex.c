/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Splits one record of a master file into words and quoted strings, as CoreDNS's parser does: a
 * parenthesis or a carriage return is dropped without ending a word. A newline inside parentheses
 * does end one (RFC 1035 section 5.1; CoreDNS drops it, so that lines run into each other).
 * Words point into the text; only those with something dropped inside are copied. */
#include "dns/rrtext/lex.h"

#include "base/err.h"
#include "dns/rrtext/parser.h"

enum { ORDINARY, SPECIAL };

static const uint8_t char_class[256] = {
	[' '] = SPECIAL, ['\t'] = SPECIAL, ['\n'] = SPECIAL, ['\r'] = SPECIAL, ['('] = SPECIAL,
	[')'] = SPECIAL, ['"'] = SPECIAL,  [';'] = SPECIAL,  ['\\'] = SPECIAL,
};

int dns_rrtext_fail(struct rrtext_lexer *lx, const char *reason)
{
	if (lx->error == NULL)
		lx->error = reason;
	return ERR_PARSE;
}

static void skip_comment(struct rrtext_lexer *lx)
{
	while (lx->p < lx->end && *lx->p != '\n')
		lx->p++;
}

static bool is_blank(char ch)
{
	return ch == ' ' || ch == '\t';
}

/* Ends a word and nothing else. */
static bool is_separator(const struct rrtext_lexer *lx, char ch)
{
	return is_blank(ch) || (ch == '\n' && lx->depth > 0);
}

/* At the start of a line that may hold nothing but blanks and a comment. */
static bool skip_empty_line(struct rrtext_lexer *lx)
{
	const char *p = lx->p;
	while (p < lx->end && (is_blank(*p) || *p == '\r'))
		p++;
	if (p < lx->end && *p != '\n' && *p != ';')
		return false;
	lx->p = p;
	skip_comment(lx);
	if (lx->p < lx->end)
		lx->p++;
	return true;
}

int dns_rrtext_lex_start(struct rrtext_lexer *lx, struct slice text, char *joined)
{
	*lx = (struct rrtext_lexer){ .p = text.p, .end = text.p + text.n, .joined = joined };
	lx->at = text.p;
	while (lx->p < lx->end && skip_empty_line(lx))
		;
	if (lx->p == lx->end)
		return ERR_NOTFOUND;
	while (*lx->p == '\r')
		lx->p++;
	lx->at = lx->p;
	return is_blank(*lx->p) ? dns_rrtext_fail(lx, "missing owner name") : 0;
}

/* Takes a character that stands for nothing itself; false: it is none of those. */
static bool take_dropped(struct rrtext_lexer *lx)
{
	switch (*lx->p) {
	case '\r':
		break;
	case '(':
		lx->depth++;
		break;
	case ')':
		if (lx->depth == 0) {
			lx->error = "extra closing parenthesis";
			return false;
		}
		lx->depth--;
		break;
	default:
		return false;
	}
	lx->p++;
	return true;
}

static struct slice join_piece(struct rrtext_lexer *lx, char *start, const char *piece, size_t len)
{
	/* The pieces of all words together are shorter than the text, so the room suffices. */
	memcpy(lx->joined, piece, len);
	lx->joined += len;
	return (struct slice){ start, (size_t)(lx->joined - start) };
}

static struct slice lex_word(struct rrtext_lexer *lx)
{
	char *start = lx->joined;
	const char *piece = lx->p;
	bool whole = true;
	for (;;) {
		const char *p = lx->p;
		while (p < lx->end && char_class[(unsigned char)*p] == ORDINARY)
			p++;
		lx->p = p;
		if (p == lx->end)
			break;
		if (*p == '\\') {
			lx->p++;
			if (lx->p < lx->end && *lx->p != '\n' && *lx->p != '\r')
				lx->p++;
			continue;
		}
		if (!take_dropped(lx))
			break;
		join_piece(lx, start, piece, (size_t)(p - piece));
		piece = lx->p;
		whole = false;
	}
	size_t n = (size_t)(lx->p - piece);
	return whole ? (struct slice){ piece, n } : join_piece(lx, start, piece, n);
}

static enum rrtext_kind lex_quoted(struct rrtext_lexer *lx, struct rrtext_token *ret)
{
	const char *start = ++lx->p;
	while (lx->p < lx->end && *lx->p != '"')
		lx->p += *lx->p == '\\' && lx->end - lx->p > 1 ? 2 : 1;
	if (lx->p >= lx->end) {
		lx->error = "unterminated string";
		return ret->kind = RRTEXT_BAD;
	}
	ret->text = (struct slice){ start, (size_t)(lx->p - start) };
	lx->p++;
	return ret->kind = RRTEXT_QUOTED;
}

enum rrtext_kind dns_rrtext_lex_next(struct rrtext_lexer *lx, struct rrtext_token *ret)
{
	ret->glued = true;
	for (; lx->p < lx->end; lx->at = lx->p) {
		char c = *lx->p;
		if (LIKELY(char_class[(unsigned char)c] == ORDINARY) || c == '\\') {
			lx->at = lx->p;
			ret->text = lex_word(lx);
			ret->kind = lx->error != NULL ? RRTEXT_BAD : RRTEXT_WORD;
			return ret->kind;
		}
		if (is_separator(lx, c)) {
			ret->glued = false;
			lx->p++;
		} else if (c == ';') {
			skip_comment(lx);
		} else if (c == '"') {
			return lex_quoted(lx, ret);
		} else if (!take_dropped(lx)) {
			return ret->kind = lx->error != NULL ? RRTEXT_BAD : RRTEXT_END;
		}
	}
	if (lx->depth > 0)
		lx->error = "missing closing parenthesis";
	return ret->kind = lx->error != NULL ? RRTEXT_BAD : RRTEXT_END;
}

int dns_rrtext_word(struct rrtext_lexer *lx, struct slice *ret)
{
	struct rrtext_token t;
	switch (dns_rrtext_lex_next(lx, &t)) {
	case RRTEXT_WORD:
		if (t.glued)
			return dns_rrtext_fail(lx, "missing blank between fields");
		*ret = t.text;
		return 0;
	case RRTEXT_QUOTED:
		return dns_rrtext_fail(lx, "unexpected quotes");
	case RRTEXT_END:
		return dns_rrtext_fail(lx, "too few fields");
	case RRTEXT_BAD:
		break;
	}
	return ERR_PARSE;
}

int dns_rrtext_finish(struct rrtext_lexer *lx)
{
	struct rrtext_token t;
	enum rrtext_kind k = dns_rrtext_lex_next(lx, &t);
	return k == RRTEXT_END ? 0 : dns_rrtext_fail(lx, "too many fields");
}

int dns_rrtext_ttl(struct slice text, uint32_t *ret)
{
	uint64_t sum = 0;
	uint64_t n = 0;
	for (size_t i = 0; i < text.n; i++) {
		uint64_t unit;
		char c = text.p[i];
		if (ascii_isdigit(c)) {
			n = n * 10 + (uint64_t)(c - '0');
			if (n > UINT32_MAX)
				return ERR_RANGE;
			continue;
		}
		switch (ascii_lower(c)) {
		case 's':
			unit = 1;
			break;
		case 'm':
			unit = 60;
			break;
		case 'h':
			unit = 3600;
			break;
		case 'd':
			unit = 86400;
			break;
		case 'w':
			unit = 604800;
			break;
		default:
			return ERR_PARSE;
		}
		sum += n * unit;
		n = 0;
		if (sum > UINT32_MAX)
			return ERR_RANGE;
	}
	if (sum + n > UINT32_MAX)
		return ERR_RANGE;
	*ret = (uint32_t)(sum + n);
	return 0;
}

int dns_rrtext_type(struct slice text)
{
	char upper[DNS_MNEMONIC_MAX];
	if (text.n > sizeof(upper))
		return ERR_NOTFOUND;
	for (size_t i = 0; i < text.n; i++)
		upper[i] = text.p[i] >= 'a' && text.p[i] <= 'z' ? (char)(text.p[i] & ~0x20)
								: text.p[i];
	return dns_type_parse((struct slice){ upper, text.n }, true);
}
