/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rdata layouts as rows: types whose text is one field after another go straight to wire. Here are
 * the common types, for speed, and the rare ones libzscanner does not know. */
#include "dns/rrtext/fields_priv.h"

#include <arpa/inet.h>

#include "base/err.h"
#include "base/text/base64.h"
#include "dns/rrtext/lex.h"
#include "dns/rrtext/parser.h"
#include "dns/rrtext/rare_priv.h"

enum field {
	F_END,
	F_IP4,
	F_IP6,
	F_NAME,
	F_U16,
	F_U32,
	F_SECONDS, /* 32 bits, units allowed */
	F_MINIMUM, /* the same; 0 when left out, which CoreDNS allows */
	F_STRING,  /* one unquoted word */
	F_FLOAT,   /* the same, must look like a number */
	F_HEX,	   /* all that follows */
	F_TEXTS,   /* all that follows, one string or more */
	F_TEXT,	   /* one string; what follows is ignored */
	F_HINFO,
	F_HIP,
	F_AMTRELAY,
};

enum { FIELDS_MAX = 7, LOW_TYPES = 262 };

struct rrtext_layout {
	uint8_t field[FIELDS_MAX + 1];
};

/* clang-format off */
static const struct rrtext_layout layouts[LOW_TYPES] = {
	[1]   = { { F_IP4 } },                       /* A */
	[2]   = { { F_NAME } },                      /* NS */
	[3]   = { { F_NAME } },                      /* MD */
	[4]   = { { F_NAME } },                      /* MF */
	[5]   = { { F_NAME } },                      /* CNAME */
	[6]   = { { F_NAME, F_NAME, F_U32, F_SECONDS, F_SECONDS, F_SECONDS, F_MINIMUM } }, /* SOA */
	[7]   = { { F_NAME } },                      /* MB */
	[8]   = { { F_NAME } },                      /* MG */
	[9]   = { { F_NAME } },                      /* MR */
	[12]  = { { F_NAME } },                      /* PTR */
	[13]  = { { F_HINFO } },                     /* HINFO */
	[14]  = { { F_NAME, F_NAME } },              /* MINFO */
	[15]  = { { F_U16, F_NAME } },               /* MX */
	[16]  = { { F_TEXTS } },                     /* TXT */
	[17]  = { { F_NAME, F_NAME } },              /* RP */
	[18]  = { { F_U16, F_NAME } },               /* AFSDB */
	[19]  = { { F_STRING } },                    /* X25 */
	[20]  = { { F_HINFO } },                     /* ISDN */
	[21]  = { { F_U16, F_NAME } },               /* RT */
	[23]  = { { F_NAME } },                      /* NSAP-PTR */
	[26]  = { { F_U16, F_NAME, F_NAME } },       /* PX */
	[27]  = { { F_FLOAT, F_FLOAT, F_FLOAT } },   /* GPOS */
	[28]  = { { F_IP6 } },                       /* AAAA */
	[31]  = { { F_HEX } },                       /* EID */
	[32]  = { { F_HEX } },                       /* NIMLOC */
	[33]  = { { F_U16, F_U16, F_U16, F_NAME } }, /* SRV */
	[36]  = { { F_U16, F_NAME } },               /* KX */
	[39]  = { { F_NAME } },                      /* DNAME */
	[55]  = { { F_HIP } },                       /* HIP */
	[56]  = { { F_TEXTS } },                     /* NINFO */
	[58]  = { { F_NAME, F_NAME } },              /* TALINK */
	[99]  = { { F_TEXTS } },                     /* SPF */
	[100] = { { F_TEXT } },                      /* UINFO */
	[101] = { { F_U32 } },                       /* UID */
	[102] = { { F_U32 } },                       /* GID */
	[105] = { { F_U16, F_IP4 } },                /* L32 */
	[107] = { { F_U16, F_NAME } },               /* LP */
	[258] = { { F_TEXTS } },                     /* AVC */
	[260] = { { F_AMTRELAY } },                  /* AMTRELAY */
	[261] = { { F_TEXTS } },                     /* RESINFO */
};
/* clang-format on */

const struct rrtext_layout *dns_rrtext_layout_find(uint16_t type)
{
	if (type >= LOW_TYPES || layouts[type].field[0] == F_END)
		return NULL;
	return &layouts[type];
}

int dns_rrtext_put(struct rrtext_lexer *lx, struct rrtext_out *out, const void *data, size_t len)
{
	if (len > (size_t)(out->end - out->p))
		return dns_rrtext_fail(lx, "record data too long");
	memcpy(out->p, data, len);
	out->p += len;
	return 0;
}

int dns_rrtext_put_name(struct rrtext_lexer *lx, struct slice text, struct rrtext_out *out)
{
	uint8_t name[DNS_NAME_MAX];
	int n = dns_rrtext_name(lx, text, name);
	if (n < 0)
		return dns_rrtext_fail(lx, "bad domain name");
	return dns_rrtext_put(lx, out, name, (size_t)n);
}

bool dns_rrtext_ip4(struct slice text, uint8_t out[4])
{
	size_t i = 0;
	for (int part = 0; part < 4; part++) {
		unsigned v = 0;
		if (part > 0 && (i >= text.n || text.p[i++] != '.'))
			return false;
		size_t from = i;
		for (; i < text.n && ascii_isdigit(text.p[i]) && i - from < 3; i++)
			v = v * 10 + (unsigned)(text.p[i] - '0');
		/* Some parsers read a leading zero as octal. */
		if (i == from || v > 255 || (i - from > 1 && text.p[from] == '0'))
			return false;
		out[part] = (uint8_t)v;
	}
	return i == text.n;
}

bool dns_rrtext_ip6(struct slice word, uint8_t out[16])
{
	char text[INET6_ADDRSTRLEN];
	if (word.n >= sizeof(text) || memchr(word.p, '\0', word.n) != NULL)
		return false;
	memcpy(text, word.p, word.n);
	text[word.n] = '\0';
	return inet_pton(AF_INET6, text, out) == 1;
}

int dns_rrtext_get_u(struct rrtext_lexer *lx, uint32_t max, uint32_t *ret)
{
	struct slice s;
	uint64_t v;
	int r = dns_rrtext_word(lx, &s);
	if (r < 0)
		return r;
	if (slice_u64(s, &v) < 0 || v > max)
		return dns_rrtext_fail(lx, "bad number");
	*ret = (uint32_t)v;
	return 0;
}

/* Appends digits; *half is the upper half of an unfinished byte, or -1. */
static int put_digits(struct rrtext_lexer *lx, struct slice text, int *half, struct rrtext_out *out)
{
	for (size_t i = 0; i < text.n; i++) {
		int d = ascii_hex_value(text.p[i]);
		if (d < 0)
			return dns_rrtext_fail(lx, "bad hexadecimal digit");
		if (*half < 0) {
			*half = d;
			continue;
		}
		if (out->p == out->end)
			return dns_rrtext_fail(lx, "record data too long");
		*out->p++ = (uint8_t)(*half << 4 | d);
		*half = -1;
	}
	return 0;
}

int dns_rrtext_put_hex(struct rrtext_lexer *lx, struct slice text, struct rrtext_out *out)
{
	int half = -1;
	int r = put_digits(lx, text, &half, out);
	return r == 0 && half >= 0 ? dns_rrtext_fail(lx, "odd number of hexadecimal digits") : r;
}

int dns_rrtext_put_hex_rest(struct rrtext_lexer *lx, struct rrtext_out *out)
{
	struct rrtext_token t;
	enum rrtext_kind k;
	int half = -1;
	while ((k = dns_rrtext_lex_next(lx, &t)) == RRTEXT_WORD) {
		int r = put_digits(lx, t.text, &half, out);
		if (r < 0)
			return r;
	}
	if (half >= 0)
		return dns_rrtext_fail(lx, "odd number of hexadecimal digits");
	return k == RRTEXT_END ? 0 : dns_rrtext_fail(lx, "unexpected quotes");
}

int dns_rrtext_put_base64(struct rrtext_lexer *lx, struct slice text, struct rrtext_out *out)
{
	size_t pad = 0;
	while (pad < 2 && pad < text.n && text.p[text.n - 1 - pad] == '=')
		pad++;
	if (text.n % 4 != 0)
		return dns_rrtext_fail(lx, "bad base64");
	if (text.n / 4 * 3 - pad > (size_t)(out->end - out->p))
		return dns_rrtext_fail(lx, "record data too long");
	uint32_t bits = 0;
	for (size_t i = 0; i < text.n; i++) {
		int d = i < text.n - pad ? base64_value(text.p[i]) : 0;
		if (d < 0)
			return dns_rrtext_fail(lx, "bad base64");
		bits = bits << 6 | (uint32_t)d;
		if (i % 4 != 3)
			continue;
		size_t n = i + 1 == text.n ? 3 - pad : 3;
		for (size_t k = 0; k < n; k++)
			*out->p++ = (uint8_t)(bits >> (16 - 8 * k));
	}
	return 0;
}

/* Decodes from *i on until the end or 255 bytes are written. */
static int put_chunk(struct rrtext_lexer *lx, struct slice text, size_t *index,
		     struct rrtext_out *out)
{
	uint8_t *len = out->p;
	if (out->p == out->end)
		return dns_rrtext_fail(lx, "record data too long");
	out->p++;
	while (*index < text.n && out->p - len <= 255) {
		int c = dns_rrtext_byte(text, index);
		if (c < 0)
			return dns_rrtext_fail(lx, "bad escape");
		if (out->p == out->end)
			return dns_rrtext_fail(lx, "record data too long");
		*out->p++ = (uint8_t)c;
	}
	*len = (uint8_t)(out->p - len - 1);
	return 0;
}

int dns_rrtext_put_string(struct rrtext_lexer *lx, struct slice text, struct rrtext_out *out)
{
	size_t i = 0;
	int r = put_chunk(lx, text, &i, out);
	return r == 0 && i < text.n ? dns_rrtext_fail(lx, "string longer than 255 bytes") : r;
}

/* Longer texts continue in a further string. */
static int put_texts(struct rrtext_lexer *lx, struct rrtext_out *out)
{
	struct rrtext_token t;
	enum rrtext_kind k;
	unsigned strings = 0;
	while ((k = dns_rrtext_lex_next(lx, &t)) == RRTEXT_WORD || k == RRTEXT_QUOTED) {
		size_t i = 0;
		do {
			int r = put_chunk(lx, t.text, &i, out);
			if (r < 0)
				return r;
		} while (i < t.text.n);
		strings++;
	}
	if (k == RRTEXT_BAD)
		return ERR_PARSE;
	return strings != 0 ? 0 : dns_rrtext_fail(lx, "too few fields");
}

static int put_first_text(struct rrtext_lexer *lx, struct rrtext_out *out)
{
	struct rrtext_token t;
	enum rrtext_kind k = dns_rrtext_lex_next(lx, &t);
	if (k != RRTEXT_WORD && k != RRTEXT_QUOTED)
		return dns_rrtext_fail(lx, "too few fields");
	int r = dns_rrtext_put_string(lx, t.text, out);
	while (r == 0 && (k = dns_rrtext_lex_next(lx, &t)) != RRTEXT_END)
		if (k == RRTEXT_BAD)
			return ERR_PARSE;
	return r;
}

static bool is_float(struct slice text)
{
	size_t i = text.n > 0 && (text.p[0] == '+' || text.p[0] == '-');
	size_t digits = 0;
	for (; i < text.n && ascii_isdigit(text.p[i]); i++)
		digits++;
	if (i < text.n && text.p[i] == '.')
		for (i++; i < text.n && ascii_isdigit(text.p[i]); i++)
			digits++;
	return digits != 0 && i == text.n;
}

static int put_number(struct rrtext_lexer *lx, enum field field, struct rrtext_out *out)
{
	uint8_t b[4];
	uint32_t v = 0;
	int r = dns_rrtext_get_u(lx, field == F_U16 ? UINT16_MAX : UINT32_MAX, &v);
	if (r < 0)
		return r;
	dns_put32(b, v);
	return field == F_U16 ? dns_rrtext_put(lx, out, b + 2, 2) : dns_rrtext_put(lx, out, b, 4);
}

/* A field that is exactly one word. */
static int put_word(struct rrtext_lexer *lx, enum field field, struct rrtext_out *out)
{
	struct slice s;
	uint8_t b[16];
	uint32_t v;
	int r = dns_rrtext_word(lx, &s);
	if (r < 0)
		return r;
	switch (field) {
	case F_IP4:
		return dns_rrtext_ip4(s, b) ? dns_rrtext_put(lx, out, b, 4)
					    : dns_rrtext_fail(lx, "bad IPv4 address");
	case F_IP6:
		return dns_rrtext_ip6(s, b) ? dns_rrtext_put(lx, out, b, 16)
					    : dns_rrtext_fail(lx, "bad IPv6 address");
	case F_NAME:
		return dns_rrtext_put_name(lx, s, out);
	case F_SECONDS:
		if (dns_rrtext_ttl(s, &v) < 0)
			return dns_rrtext_fail(lx, "bad time");
		dns_put32(b, v);
		return dns_rrtext_put(lx, out, b, 4);
	case F_FLOAT:
		if (!is_float(s))
			return dns_rrtext_fail(lx, "bad number");
		return dns_rrtext_put_string(lx, s, out);
	case F_STRING:
		return dns_rrtext_put_string(lx, s, out);
	case F_END:
	case F_U16:
	case F_U32:
	case F_MINIMUM:
	case F_HEX:
	case F_TEXTS:
	case F_TEXT:
	case F_HINFO:
	case F_HIP:
	case F_AMTRELAY:
		break;
	}
	return ERR_INTERNAL;
}

static int put_minimum(struct rrtext_lexer *lx, struct rrtext_out *out)
{
	struct rrtext_lexer ahead = *lx;
	struct rrtext_token t;
	if (dns_rrtext_lex_next(&ahead, &t) == RRTEXT_END)
		return dns_rrtext_put(lx, out, "\0\0\0\0", 4);
	return put_word(lx, F_SECONDS, out);
}

static int put_field(struct rrtext_lexer *lx, enum field field, struct rrtext_out *out)
{
	switch (field) {
	case F_IP4:
	case F_IP6:
	case F_NAME:
	case F_SECONDS:
	case F_FLOAT:
	case F_STRING:
		return put_word(lx, field, out);
	case F_U16:
	case F_U32:
		return put_number(lx, field, out);
	case F_MINIMUM:
		return put_minimum(lx, out);
	case F_HEX:
		return dns_rrtext_put_hex_rest(lx, out);
	case F_TEXTS:
		return put_texts(lx, out);
	case F_TEXT:
		return put_first_text(lx, out);
	case F_HINFO:
		return dns_rrtext_write_hinfo(lx, out);
	case F_HIP:
		return dns_rrtext_write_hip(lx, out);
	case F_AMTRELAY:
		return dns_rrtext_write_amtrelay(lx, out);
	case F_END:
		break;
	}
	return 0;
}

int dns_rrtext_layout_write(const struct rrtext_layout *layout, struct rrtext_lexer *lx,
			    struct rrtext_out *out)
{
	for (size_t i = 0; layout->field[i] != F_END; i++) {
		int r = put_field(lx, (enum field)layout->field[i], out);
		if (r < 0)
			return r;
	}
	return dns_rrtext_finish(lx);
}

/* Bytes the field takes at the start of p[n]; 0: it does not fit. */
static size_t field_size(enum field field, const uint8_t *data, size_t len)
{
	uint8_t name[DNS_NAME_MAX];
	size_t size = len;
	int r;
	switch (field) {
	case F_U16:
		size = 2;
		break;
	case F_IP4:
	case F_U32:
	case F_SECONDS:
	case F_MINIMUM:
		size = 4;
		break;
	case F_IP6:
		size = 16;
		break;
	case F_NAME:
		/* From offset 0 on no pointer leads backwards, so none is accepted. */
		r = dns_name_unpack(data, len, 0, name);
		if (r < 0)
			return 0;
		size = (size_t)r;
		break;
	case F_STRING:
	case F_FLOAT:
	case F_TEXT:
		size = len > 0 ? 1U + data[0] : 1;
		break;
	case F_TEXTS:
	case F_HINFO:
		for (size = 0; size < len; size += 1U + data[size])
			;
		break;
	case F_END:
	case F_HEX:
	case F_HIP:
	case F_AMTRELAY:
		break;
	}
	return size <= len ? size : 0;
}

bool dns_rrtext_layout_check(const struct rrtext_layout *layout, const uint8_t *rdata, size_t len)
{
	size_t at = 0;
	for (size_t i = 0; layout->field[i] != F_END; i++) {
		size_t size = field_size((enum field)layout->field[i], rdata + at, len - at);
		if (size == 0)
			return false;
		at += size;
	}
	return at == len;
}
