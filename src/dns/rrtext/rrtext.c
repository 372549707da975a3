/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One record from text: reads owner, TTL, class and type in CoreDNS's order and spelling, then
 * hands the rdata to the layout table, to libzscanner, or decodes RFC 3597 bytes. */
#include "dns/rrtext/rrtext.h"

#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "dns/rrtext/fields_priv.h"
#include "dns/rrtext/lex.h"
#include "dns/rrtext/parser.h"
#include "dns/rrtext/rrtext_test.h"
#include "dns/rrtext/scan_priv.h"

enum { DEFAULT_TTL_S = 3600 };

static bool is_directive(struct slice text)
{
	static const struct slice names[] = {
		{ "$TTL", 4 }, { "$ORIGIN", 7 }, { "$INCLUDE", 8 }, { "$GENERATE", 9 }
	};
	for (size_t i = 0; text.n != 0 && text.p[0] == '$' && i < ARRAY_LEN(names); i++)
		if (slice_eq_nocase(text, names[i]))
			return true;
	return false;
}

static bool is_absolute(struct slice text)
{
	size_t i = text.n - 1;
	if (text.p[i] != '.')
		return false;
	while (i > 0 && text.p[i - 1] == '\\')
		i--;
	return (text.n - 1 - i) % 2 == 0;
}

int dns_rrtext_name(const struct rrtext_lexer *lx, struct slice text, uint8_t out[DNS_NAME_MAX])
{
	const uint8_t *origin = lx->origin != NULL ? lx->origin : dns_name_root;
	size_t origin_len = dns_name_len(origin);
	if (text.n == 1 && text.p[0] == '@') {
		memcpy(out, origin, origin_len);
		return (int)origin_len;
	}
	int n = dns_name_from_text(text, out);
	if (n < 0 || origin_len == 1 || is_absolute(text))
		return n;
	if ((size_t)n - 1 + origin_len > DNS_NAME_MAX)
		return ERR_PARSE;
	memcpy(out + n - 1, origin, origin_len);
	return n - 1 + (int)origin_len;
}

static int read_owner(struct rrtext_lexer *lx, struct rrtext_head *head)
{
	struct rrtext_token t;
	if (dns_rrtext_lex_next(lx, &t) != RRTEXT_WORD)
		return dns_rrtext_fail(lx, "bad owner name");
	if (is_directive(t.text))
		return dns_rrtext_fail(lx, "directives are not allowed");
	int n = dns_rrtext_name(lx, t.text, head->owner);
	if (n < 0)
		return dns_rrtext_fail(lx, "bad owner name");
	head->owner_len = (uint8_t)n;
	return 0;
}

static int set_ttl(struct rrtext_lexer *lx, struct rrtext_head *head, struct slice text)
{
	if (head->has_ttl || dns_rrtext_ttl(text, &head->ttl) < 0)
		return dns_rrtext_fail(lx, "expected a TTL, class or record type");
	head->has_ttl = true;
	return 0;
}

static int set_class(struct rrtext_lexer *lx, struct rrtext_head *head, int cls)
{
	if (head->has_class)
		return dns_rrtext_fail(lx, "expected a TTL or record type");
	head->has_class = true;
	head->cls = (uint16_t)cls;
	return 0;
}

/* Spares the common types two searches. */
static uint16_t hot_type(struct slice text)
{
	static const struct {
		struct slice name;
		uint16_t type;
	} hot[] = {
		{ { "A", 1 }, DNS_TYPE_A },	    { { "AAAA", 4 }, DNS_TYPE_AAAA },
		{ { "CNAME", 5 }, DNS_TYPE_CNAME }, { { "TXT", 3 }, DNS_TYPE_TXT },
		{ { "PTR", 3 }, DNS_TYPE_PTR },	    { { "SRV", 3 }, DNS_TYPE_SRV },
		{ { "MX", 2 }, DNS_TYPE_MX },
	};
	for (size_t i = 0; i < ARRAY_LEN(hot); i++)
		if (slice_eq(text, hot[i].name))
			return hot[i].type;
	return 0;
}

/* A word that is no plain TTL: record type, class, or TTL that starts with a unit. */
static int read_mnemonic(struct rrtext_lexer *lx, struct rrtext_head *head, struct slice text)
{
	char upper[DNS_MNEMONIC_MAX];
	struct slice u = { upper, MIN(text.n, sizeof(upper)) };
	for (size_t i = 0; i < u.n; i++)
		upper[i] = text.p[i] >= 'a' && text.p[i] <= 'z' ? (char)(text.p[i] & ~0x20)
								: text.p[i];
	int cls = dns_class_parse(u, true);
	int type = dns_type_parse(u, true);
	/* ANY is both, and of no use as either. */
	if (text.n > sizeof(upper) || (cls >= 0 && type >= 0))
		return dns_rrtext_fail(lx, "unknown record type");
	if (cls >= 0)
		return set_class(lx, head, cls);
	if (type < 0 && (slice_starts(u, SLICE("TYPE")) || slice_starts(u, SLICE("CLASS"))))
		return dns_rrtext_fail(lx, "bad number of a type or class");
	if (type < 0)
		return set_ttl(lx, head, text);
	head->type = (uint16_t)type;
	head->has_type = true;
	return 0;
}

int dns_rrtext_head(struct rrtext_lexer *lx, struct rrtext_head *head)
{
	int r = 0;
	head->has_ttl = head->has_class = head->has_type = false;
	while (r == 0 && !head->has_type) {
		struct slice s;
		if ((r = dns_rrtext_word(lx, &s)) < 0)
			return r;
		if (ascii_isdigit(s.p[0]))
			r = set_ttl(lx, head, s);
		else if (s.n == 2 && s.p[0] == 'I' && s.p[1] == 'N')
			r = set_class(lx, head, DNS_CLASS_IN);
		else if ((head->type = hot_type(s)) != 0)
			head->has_type = true;
		else
			r = read_mnemonic(lx, head, s);
	}
	return r;
}

/* RFC 3597 §5: \# length hexadecimal-data. */
static int read_generic(struct rrtext_lexer *lx, uint16_t type, struct rrtext_out *out)
{
	const uint8_t *start = out->p;
	const struct rrtext_layout *l = dns_rrtext_layout_find(type);
	struct slice mark;
	uint32_t len;
	int r = dns_rrtext_word(lx, &mark);
	if (r < 0 || (r = dns_rrtext_get_u(lx, UINT16_MAX, &len)) < 0 ||
	    (r = dns_rrtext_put_hex_rest(lx, out)) < 0)
		return r;
	size_t n = (size_t)(out->p - start);
	if (n != len)
		return dns_rrtext_fail(lx, "record data is not as long as announced");
	if (l != NULL && !dns_rrtext_layout_check(l, start, n))
		return dns_rrtext_fail(lx, "record data does not fit the record type");
	return 0;
}

/* Whether the next word is the mark of RFC 3597. */
static bool is_generic(const struct rrtext_lexer *lx)
{
	struct rrtext_lexer ahead = *lx;
	struct rrtext_token t;
	const char *p = lx->p;
	while (p < lx->end && (*p == ' ' || *p == '\t'))
		p++;
	if (p < lx->end && *p != '\\' && *p != '(')
		return false;
	return dns_rrtext_lex_next(&ahead, &t) == RRTEXT_WORD && slice_is(t.text, "\\#");
}

int dns_rrtext_rdata(struct dns_rrtext *parser, uint16_t type, struct rrtext_out *out)
{
	const struct rrtext_layout *l = dns_rrtext_layout_find(type);
	if (UNLIKELY(is_generic(&parser->lex)))
		return read_generic(&parser->lex, type, out);
	if (LIKELY(l != NULL && !(parser->force_scanner && dns_rrtext_scan_knows(type))))
		return dns_rrtext_layout_write(l, &parser->lex, out);
	if (dns_rrtext_scan_knows(type))
		return dns_rrtext_scan(parser, type, out);
	return dns_rrtext_fail(&parser->lex, "record type has no text form but \\#");
}

static void set_error(struct dns_rrtext *parser, struct slice text)
{
	unsigned line = 1;
	const char *start = text.p;
	for (const char *c = text.p; c < parser->lex.at; c++) {
		if (*c == '\n') {
			line++;
			start = c + 1;
		}
	}
	snprintf(parser->error, sizeof(parser->error), "%s at line %u column %u",
		 parser->lex.error != NULL ? parser->lex.error : "malformed record", line,
		 (unsigned)(parser->lex.at - start) + 1);
}

static int make_record(const struct rrtext_head *head, const struct dns_rrtext *parser,
		       size_t count, struct arena *arena, struct dns_rr *ret)
{
	uint8_t *m = arena_alloc(arena, head->owner_len + count);
	if (m == NULL)
		return ERR_SPACE;
	memcpy(m, head->owner, head->owner_len);
	memcpy(m + head->owner_len, parser->rdata, count);
	*ret = (struct dns_rr){
		.owner = m,
		.owner_len = head->owner_len,
		.rdata = m + head->owner_len,
		.rdlen = (uint16_t)count,
		.type = head->type,
		.cls = head->cls,
		.ttl = head->ttl,
	};
	return 0;
}

int dns_rrtext_parse(struct dns_rrtext *parser, struct slice text, struct arena *arena,
		     struct dns_rr *ret)
{
	struct rrtext_head h = { .ttl = DEFAULT_TTL_S, .cls = DNS_CLASS_IN };
	struct rrtext_out out = { parser->rdata, parser->rdata + sizeof(parser->rdata) };
	parser->error[0] = '\0';
	if (text.n > RRTEXT_MAX_BYTES) {
		snprintf(parser->error, sizeof(parser->error), "text longer than %d bytes",
			 RRTEXT_MAX_BYTES);
		return ERR_PARSE;
	}
	if (text.n == 0)
		return ERR_NOTFOUND;
	int r = dns_rrtext_lex_start(&parser->lex, text, parser->joined);
	if (r == ERR_NOTFOUND)
		return r;
	if (r == 0)
		r = read_owner(&parser->lex, &h);
	if (r == 0)
		r = dns_rrtext_head(&parser->lex, &h);
	if (r == 0)
		r = dns_rrtext_rdata(parser, h.type, &out);
	if (UNLIKELY(r < 0)) {
		set_error(parser, text);
		return ERR_PARSE;
	}
	return make_record(&h, parser, (size_t)(out.p - parser->rdata), arena, ret);
}

const char *dns_rrtext_error(const struct dns_rrtext *parser)
{
	return parser->error;
}

struct dns_rrtext *dns_rrtext_new(void)
{
	/* Not zeroed: the buffers become resident only as far as texts need them. */
	struct dns_rrtext *p = xmalloc(sizeof(*p));
	p->force_scanner = false;
	p->error[0] = '\0';
	dns_rrtext_scan_init(p);
	return p;
}

void dns_rrtext_free(struct dns_rrtext *parser)
{
	if (parser == NULL)
		return;
	zs_deinit(&parser->scanner);
	free(parser);
}

void dns_rrtext_force_scanner(struct dns_rrtext *parser, bool on)
{
	parser->force_scanner = on;
}
