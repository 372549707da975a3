/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Record types whose text is not simply one field after another and which libzscanner lacks or
 * reads differently from CoreDNS: HINFO and ISDN, HIP, AMTRELAY. */
#include "dns/rrtext/rare_priv.h"

#include "base/err.h"
#include "dns/rrtext/fields_priv.h"
#include "dns/rrtext/lex.h"
#include "dns/rrtext/parser.h"

enum { STRING_MAX = 255 };

/* Appends to a character string whose length byte is at `len`. */
static int append_text(struct rrtext_lexer *lx, uint8_t *len, struct slice text,
		       struct rrtext_out *out)
{
	for (size_t i = 0; i < text.n;) {
		int c = dns_rrtext_byte(text, &i);
		if (c < 0)
			return dns_rrtext_fail(lx, "bad escape");
		if (out->p == out->end || out->p - len > STRING_MAX)
			return dns_rrtext_fail(lx, "string longer than 255 bytes");
		*out->p++ = (uint8_t)c;
	}
	*len = (uint8_t)(out->p - len - 1);
	return 0;
}

static int append_spaced(struct rrtext_lexer *lx, uint8_t *len, struct slice text,
			 struct rrtext_out *out)
{
	int r = out->p - len > 1 ? append_text(lx, len, SLICE(" "), out) : 0;
	return r < 0 ? r : append_text(lx, len, text, out);
}

static struct slice cut_field(struct slice *rest)
{
	size_t from = 0;
	while (from < rest->n && ascii_isspace(rest->p[from]))
		from++;
	size_t to = from;
	while (to < rest->n && !ascii_isspace(rest->p[to]))
		to++;
	struct slice field = { rest->p + from, to - from };
	*rest = slice_from(*rest, to);
	return field;
}

/* A single string with blanks inside is two fields in disguise. */
static int write_single(struct rrtext_lexer *lx, struct slice only, struct rrtext_out *out)
{
	struct slice rest = only;
	struct slice first = cut_field(&rest);
	struct slice next = cut_field(&rest);
	int r = dns_rrtext_put_string(lx, next.n != 0 ? first : only, out);
	uint8_t *len = out->p;
	if (r == 0)
		r = dns_rrtext_put(lx, out, "", 1);
	for (; r == 0 && next.n != 0; next = cut_field(&rest))
		r = append_spaced(lx, len, next, out);
	return r;
}

/* The first string, and all others joined by blanks; the second may be missing. */
int dns_rrtext_write_hinfo(struct rrtext_lexer *lx, struct rrtext_out *out)
{
	struct rrtext_token first;
	struct rrtext_token t;
	enum rrtext_kind k = dns_rrtext_lex_next(lx, &first);
	if (k != RRTEXT_WORD && k != RRTEXT_QUOTED)
		return dns_rrtext_fail(lx, "too few fields");
	k = dns_rrtext_lex_next(lx, &t);
	if (k == RRTEXT_END)
		return write_single(lx, first.text, out);
	int r = dns_rrtext_put_string(lx, first.text, out);
	uint8_t *len = out->p;
	if (r == 0)
		r = dns_rrtext_put(lx, out, "", 1);
	for (bool more = false; r == 0 && (k == RRTEXT_WORD || k == RRTEXT_QUOTED); more = true) {
		if (more)
			r = append_text(lx, len, SLICE(" "), out);
		if (r == 0)
			r = append_text(lx, len, t.text, out);
		k = dns_rrtext_lex_next(lx, &t);
	}
	return r == 0 && k == RRTEXT_BAD ? ERR_PARSE : r;
}

/* RFC 8005 §5: lengths come first on the wire and are not in the text. */
int dns_rrtext_write_hip(struct rrtext_lexer *lx, struct rrtext_out *out)
{
	uint32_t algorithm;
	struct slice hit;
	struct slice key;
	int r = dns_rrtext_get_u(lx, UINT8_MAX, &algorithm);
	if (r < 0 || (r = dns_rrtext_word(lx, &hit)) < 0 || (r = dns_rrtext_word(lx, &key)) < 0)
		return r;
	uint8_t *head = out->p;
	if ((r = dns_rrtext_put(lx, out, "\0\0\0\0", 4)) < 0)
		return r;
	if ((r = dns_rrtext_put_hex(lx, hit, out)) < 0)
		return r;
	size_t hit_len = (size_t)(out->p - head) - 4;
	if ((r = dns_rrtext_put_base64(lx, key, out)) < 0)
		return r;
	if (hit_len > UINT8_MAX)
		return dns_rrtext_fail(lx, "host identity tag too long");
	head[0] = (uint8_t)hit_len;
	head[1] = (uint8_t)algorithm;
	dns_put16(head + 2, (uint16_t)((size_t)(out->p - head) - 4 - hit_len));
	struct rrtext_token t;
	enum rrtext_kind k;
	while ((k = dns_rrtext_lex_next(lx, &t)) == RRTEXT_WORD) {
		if ((r = dns_rrtext_put_name(lx, t.text, out)) < 0)
			return r;
	}
	return k == RRTEXT_END ? 0 : dns_rrtext_fail(lx, "bad rendezvous server");
}

enum relay { RELAY_NONE, RELAY_IP4, RELAY_IP6, RELAY_NAME };

static int put_relay(struct rrtext_lexer *lx, enum relay type, struct slice text,
		     struct rrtext_out *out)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	uint8_t ip[16];
	switch (type) {
	case RELAY_NONE:
		return slice_is(text, ".")
			       ? 0
			       : dns_rrtext_fail(lx, "relay given although type is none");
	case RELAY_IP4:
		return dns_rrtext_ip4(text, ip) ? dns_rrtext_put(lx, out, ip, 4)
						: dns_rrtext_fail(lx, "bad IPv4 address");
	case RELAY_IP6:
		if (!dns_rrtext_ip6(text, ip) || memcmp(ip, mapped, sizeof(mapped)) == 0)
			return dns_rrtext_fail(lx, "bad IPv6 address");
		return dns_rrtext_put(lx, out, ip, 16);
	case RELAY_NAME:
		return dns_rrtext_put_name(lx, text, out);
	}
	return ERR_INTERNAL;
}

/* RFC 8777 §4: the discovery flag and the relay type share a byte. */
int dns_rrtext_write_amtrelay(struct rrtext_lexer *lx, struct rrtext_out *out)
{
	uint32_t precedence;
	uint32_t discovery;
	uint32_t type;
	struct slice relay;
	int r = dns_rrtext_get_u(lx, UINT8_MAX, &precedence);
	if (r < 0 || (r = dns_rrtext_get_u(lx, 1, &discovery)) < 0 ||
	    (r = dns_rrtext_get_u(lx, RELAY_NAME, &type)) < 0 ||
	    (r = dns_rrtext_word(lx, &relay)) < 0)
		return r;
	uint8_t head[2] = { (uint8_t)precedence, (uint8_t)(discovery << 7 | type) };
	if ((r = dns_rrtext_put(lx, out, head, sizeof(head))) < 0)
		return r;
	return put_relay(lx, (enum relay)type, relay, out);
}
