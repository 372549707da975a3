/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types whose text libzscanner reads. The record is written anew as one plain line for it: owner,
 * TTL and class do not matter there, mnemonics it lacks become numbers, names and strings are
 * escaped the way it insists on. */
#include "dns/rrtext/scan_priv.h"

#include "base/err.h"
#include "dns/rrtext/fields_priv.h"
#include "dns/rrtext/lex.h"
#include "dns/rrtext/parser.h"

enum { DEFAULT_TTL_S = 3600, NO_WORD = 0, TO_END = 255 };

/* Words count from 1. */
struct scan {
	uint16_t type;
	uint16_t as;	    /* the type with the same rdata that libzscanner knows */
	uint8_t name;	    /* word that is a domain name */
	uint8_t types_from; /* words that are record types */
	uint8_t types_to;
};

/* clang-format off */
static const struct scan scans[] = {
	/* type  as     name     types */
	{ 24,    46,    8,       1, 1 },             /* SIG */
	{ 25,    25,    NO_WORD, 0, 0 },             /* KEY */
	{ 29,    29,    NO_WORD, 0, 0 },             /* LOC */
	{ 30,    47,    1,       2, TO_END },        /* NXT */
	{ 35,    35,    6,       0, 0 },             /* NAPTR */
	{ 37,    37,    NO_WORD, 0, 0 },             /* CERT */
	{ 42,    42,    NO_WORD, 0, 0 },             /* APL */
	{ 43,    43,    NO_WORD, 0, 0 },             /* DS */
	{ 44,    44,    NO_WORD, 0, 0 },             /* SSHFP */
	{ 45,    45,    4,       0, 0 },             /* IPSECKEY */
	{ 46,    46,    8,       1, 1 },             /* RRSIG */
	{ 47,    47,    1,       2, TO_END },        /* NSEC */
	{ 48,    48,    NO_WORD, 0, 0 },             /* DNSKEY */
	{ 49,    49,    NO_WORD, 0, 0 },             /* DHCID */
	{ 50,    50,    NO_WORD, 6, TO_END },        /* NSEC3 */
	{ 51,    51,    NO_WORD, 0, 0 },             /* NSEC3PARAM */
	{ 52,    52,    NO_WORD, 0, 0 },             /* TLSA */
	{ 53,    53,    NO_WORD, 0, 0 },             /* SMIMEA */
	{ 57,    48,    NO_WORD, 0, 0 },             /* RKEY */
	{ 59,    59,    NO_WORD, 0, 0 },             /* CDS */
	{ 60,    60,    NO_WORD, 0, 0 },             /* CDNSKEY */
	{ 61,    61,    NO_WORD, 0, 0 },             /* OPENPGPKEY */
	{ 62,    62,    NO_WORD, 3, TO_END },        /* CSYNC */
	{ 63,    63,    NO_WORD, 0, 0 },             /* ZONEMD */
	{ 64,    64,    2,       0, 0 },             /* SVCB */
	{ 65,    65,    2,       0, 0 },             /* HTTPS */
	{ 104,   104,   NO_WORD, 0, 0 },             /* NID */
	{ 106,   106,   NO_WORD, 0, 0 },             /* L64 */
	{ 108,   108,   NO_WORD, 0, 0 },             /* EUI48 */
	{ 109,   109,   NO_WORD, 0, 0 },             /* EUI64 */
	{ 256,   256,   NO_WORD, 0, 0 },             /* URI */
	{ 257,   257,   NO_WORD, 0, 0 },             /* CAA */
	{ 32768, 43,    NO_WORD, 0, 0 },             /* TA */
	{ 32769, 43,    NO_WORD, 0, 0 },             /* DLV */
};

/* Types of the layout table that libzscanner knows: read here only when a test says so. */
static const struct scan known[] = {
	{ 1,     1,     NO_WORD, 0, 0 },
	{ 2,     2,     1,       0, 0 },
	{ 5,     5,     1,       0, 0 },
	{ 6,     6,     NO_WORD, 0, 0 },
	{ 12,    12,    1,       0, 0 },
	{ 15,    15,    2,       0, 0 },
	{ 16,    16,    NO_WORD, 0, 0 },
	{ 18,    18,    2,       0, 0 },
	{ 21,    21,    2,       0, 0 },
	{ 28,    28,    NO_WORD, 0, 0 },
	{ 33,    33,    4,       0, 0 },
	{ 36,    36,    2,       0, 0 },
	{ 39,    39,    1,       0, 0 },
	{ 99,    99,    NO_WORD, 0, 0 },
	{ 105,   105,   NO_WORD, 0, 0 },
	{ 107,   107,   2,       0, 0 },
};
/* clang-format on */

struct line {
	char *p;
	const char *end;
};

static const struct scan *find_in(const struct scan *rows, size_t count, uint16_t type)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].type == type)
			return &rows[i];
	return NULL;
}

static const struct scan *find_scan(uint16_t type)
{
	const struct scan *s = find_in(scans, ARRAY_LEN(scans), type);
	return s != NULL ? s : find_in(known, ARRAY_LEN(known), type);
}

bool dns_rrtext_scan_knows(uint16_t type)
{
	return find_scan(type) != NULL;
}

/* All of a scanner but its three large buffers, whose contents do not outlive a record. */
static void copy_state(zs_scanner_t *to, const zs_scanner_t *from)
{
	const size_t path = offsetof(zs_scanner_t, path);
	memcpy(to, from, offsetof(zs_scanner_t, buffer));
	memcpy((char *)to + path, (const char *)from + path, offsetof(zs_scanner_t, r_data) - path);
}

void dns_rrtext_scan_init(struct dns_rrtext *parser)
{
	/* Fails only for an origin that is no name. */
	int r = zs_init(&parser->scanner, ".", DNS_CLASS_IN, DEFAULT_TTL_S);
	if (r != 0)
		abort();
	copy_state(&parser->fresh, &parser->scanner);
}

static void add_bytes(struct line *line, const char *text, size_t len)
{
	if (len > (size_t)(line->end - line->p))
		len = (size_t)(line->end - line->p);
	memcpy(line->p, text, len);
	line->p += len;
}

static void add_str(struct line *line, const char *text)
{
	add_bytes(line, text, strlen(text));
}

static void add_decimal(struct line *line, uint8_t ch)
{
	char d[4] = { '\\', (char)('0' + ch / 100), (char)('0' + ch / 10 % 10),
		      (char)('0' + ch % 10) };
	add_bytes(line, d, sizeof(d));
}

static bool is_plain(int ch, const char *others)
{
	return (ch < 128 && (ascii_isalpha((char)ch) || ascii_isdigit((char)ch))) ||
	       (ch != 0 && ch < 128 && strchr(others, ch) != NULL);
}

static void add_name(struct line *line, const uint8_t *name)
{
	if (*name == 0)
		add_str(line, ".");
	while (*name != 0) {
		const uint8_t *end = name + 1 + *name;
		for (name++; name < end; name++) {
			char c = (char)*name;
			if (is_plain(*name, "-_"))
				add_bytes(line, &c, 1);
			else
				add_decimal(line, *name);
		}
		add_str(line, ".");
	}
}

/* Text with its escapes normalised; an escaped backslash keeps its form, because lists inside
 * service parameters look for it. */
static int add_text(struct rrtext_lexer *lx, struct line *line, struct slice text,
		    const char *plain)
{
	for (size_t i = 0; i < text.n;) {
		bool escaped = text.p[i] == '\\';
		int c = dns_rrtext_byte(text, &i);
		char ch = (char)c;
		if (c < 0)
			return dns_rrtext_fail(lx, "bad escape");
		if (c == '\\')
			add_str(line, "\\\\");
		else if (!escaped && is_plain(c, plain))
			add_bytes(line, &ch, 1);
		else
			add_decimal(line, (uint8_t)c);
	}
	return 0;
}

static const char word_plain[] = "-_*/.:+=,!@#$%&'<>?[]^`{|}~";
static const char quoted_plain[] = " -_*/.:+=,!@#$%&'<>?[]^`{|}~;()";

/* Service parameter keys newer than libzscanner. */
static struct slice svcb_key(struct slice key)
{
	if (slice_is(key, "dohpath"))
		return SLICE("key7");
	if (slice_is(key, "ohttp"))
		return SLICE("key8");
	return key;
}

static int add_svcb_param(struct rrtext_lexer *lx, struct line *line, struct slice text)
{
	struct slice value = text;
	struct slice key = slice_cut(&value, '=');
	struct slice name = svcb_key(key);
	if (slice_is(key, "ohttp") && value.n != 0)
		return dns_rrtext_fail(lx, "parameter takes no value");
	add_bytes(line, name.p, name.n);
	/* "key=" alone means no value, which libzscanner takes only in quotes or without "=". */
	if (value.n == 0)
		return 0;
	add_str(line, "=");
	if (!slice_is(key, "mandatory"))
		return add_text(lx, line, value, word_plain);
	for (struct slice rest = value; rest.p != NULL;) {
		name = svcb_key(slice_cut(&rest, ','));
		add_bytes(line, name.p, name.n);
		if (rest.p != NULL)
			add_str(line, ",");
	}
	return 0;
}

static int add_name_word(struct rrtext_lexer *lx, struct line *line, struct slice text)
{
	uint8_t name[DNS_NAME_MAX];
	if (dns_rrtext_name(lx, text, name) < 0)
		return dns_rrtext_fail(lx, "bad domain name");
	add_name(line, name);
	return 0;
}

static int add_word(struct rrtext_lexer *lx, struct line *line, const struct scan *sc,
		    unsigned index, struct slice text)
{
	char buf[DNS_MNEMONIC_MAX];
	bool svcb = sc->as == DNS_TYPE_SVCB || sc->as == DNS_TYPE_HTTPS;
	/* An IPSECKEY gateway may be an address. */
	uint8_t ip[16];
	if (index == sc->name &&
	    !(sc->as == 45 && (dns_rrtext_ip4(text, ip) || dns_rrtext_ip6(text, ip))))
		return add_name_word(lx, line, text);
	if (index >= sc->types_from && index <= sc->types_to) {
		int t = dns_rrtext_type(text);
		if (t < 0)
			return dns_rrtext_fail(lx, "unknown record type");
		snprintf(buf, sizeof(buf), "TYPE%d", t);
		add_str(line, buf);
		return 0;
	}
	if (svcb && index > sc->name)
		return add_svcb_param(lx, line, text);
	return add_text(lx, line, text, word_plain);
}

static int add_quoted(struct rrtext_lexer *lx, struct line *line, struct slice text)
{
	add_str(line, "\"");
	int r = add_text(lx, line, text, quoted_plain);
	add_str(line, "\"");
	return r;
}

/* Writes the record's tokens behind the head. */
static int build_line(struct rrtext_lexer *lx, struct line *line, const struct scan *sc)
{
	struct rrtext_token t;
	enum rrtext_kind k;
	bool svcb = sc->as == DNS_TYPE_SVCB || sc->as == DNS_TYPE_HTTPS;
	bool texts = sc->as == DNS_TYPE_TXT || sc->as == 99;
	unsigned i = 0;
	while ((k = dns_rrtext_lex_next(lx, &t)) == RRTEXT_WORD || k == RRTEXT_QUOTED) {
		int r;
		if (t.glued && svcb && k == RRTEXT_QUOTED)
			add_str(line, "=");
		else if (t.glued && !texts)
			return dns_rrtext_fail(lx, "missing blank between fields");
		else
			add_str(line, " ");
		i++;
		r = k == RRTEXT_WORD ? add_word(lx, line, sc, i, t.text)
				     : add_quoted(lx, line, t.text);
		if (r < 0)
			return r;
	}
	return k == RRTEXT_END ? 0 : ERR_PARSE;
}

int dns_rrtext_scan(struct dns_rrtext *parser, uint16_t type, struct rrtext_out *out)
{
	char buf[DNS_MNEMONIC_MAX];
	const struct scan *sc = find_scan(type);
	struct line l = { parser->line, parser->line + sizeof(parser->line) - 1 };
	zs_scanner_t *s = &parser->scanner;
	add_str(&l, ". 0 IN ");
	add_str(&l, dns_type_str(sc->as, buf));
	int r = build_line(&parser->lex, &l, sc);
	if (r < 0)
		return r;
	*l.p++ = '\n';
	if (zs_set_input_string(s, parser->line, (size_t)(l.p - parser->line)) == 0 &&
	    zs_parse_record(s) == 0 && s->state == ZS_STATE_DATA)
		return dns_rrtext_put(&parser->lex, out, s->r_data, s->r_data_length);
	r = dns_rrtext_fail(&parser->lex,
			    s->error.code != 0 ? zs_strerror(s->error.code) : "no record");
	/* What an error leaves behind would spoil the next record. Another zs_init() would do, but
	 * it allocates. */
	copy_state(s, &parser->fresh);
	return r;
}
