/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Building a reply from the words of a rule. */
#include "message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "dns/request.h"
#include "dns/rrtext/rrtext.h"
#include "dns/types.h"

enum {
	MESSAGE_MAX = UINT16_MAX,
	BLOCK = 256 * 1024,
	EDNS_SIZE = 1232,
	DNSSEC_OK = 0x8000,
	OPCODE_BITS = 0x7800
};

struct message {
	struct dns_rrtext *rrtext;
	struct arena arena;
	struct strbuf text;
	size_t n;
	char error[256];
	uint8_t out[MESSAGE_MAX];
	uint8_t block[BLOCK];
};

struct message *message_new(void)
{
	struct message *m = xcalloc(1, sizeof(*m));
	m->rrtext = dns_rrtext_new();
	strbuf_init(&m->text);
	return m;
}

void message_free(struct message *m)
{
	dns_rrtext_free(m->rrtext);
	strbuf_done(&m->text);
	free(m);
}

const char *message_error(const struct message *m)
{
	return m->error[0] != '\0' ? m->error : NULL;
}

static void fail(struct message *m, const char *what, const char *text)
{
	if (m->error[0] == '\0')
		snprintf(m->error, sizeof(m->error), "%s: %s", what, text);
}

static void put(struct message *m, const void *p, size_t n)
{
	if (m->n + n > sizeof(m->out)) {
		fail(m, "too long", "");
		return;
	}
	memcpy(m->out + m->n, p, n);
	m->n += n;
}

static void put16(struct message *m, unsigned v)
{
	uint8_t b[2];
	dns_put16(b, (uint16_t)v);
	put(m, b, sizeof(b));
}

static void put_hex(struct message *m, const char *text)
{
	unsigned v;
	for (const char *at = text; *at != '\0';) {
		if (*at == ':' || *at == ' ') {
			at++;
		} else if (sscanf(at, "%2x", &v) == 1 && at[1] != '\0') {
			put(m, &(uint8_t){ (uint8_t)v }, 1);
			at += 2;
		} else {
			fail(m, "not hexadecimal", text);
			return;
		}
	}
}

/* {name}, {label}, {type}, {transport}, {n} filled in. */
static struct slice filled(struct message *m, const char *text, const struct rules_query *q)
{
	char nth[16], label[sizeof(q->name)];
	snprintf(nth, sizeof(nth), "%u", q->nth);
	snprintf(label, sizeof(label), "%.*s", (int)strcspn(q->name, "."), q->name);
	const struct {
		const char *mark, *value;
	} marks[] = { { "{name}", q->name },
		      { "{label}", label },
		      { "{type}", q->type },
		      { "{transport}", q->tcp ? "tcp" : "udp" },
		      { "{n}", nth } };
	strbuf_reset(&m->text);
	while (*text != '\0') {
		size_t i = 0;
		while (i < ARRAY_LEN(marks) &&
		       strncmp(text, marks[i].mark, strlen(marks[i].mark)) != 0)
			i++;
		if (i < ARRAY_LEN(marks)) {
			strbuf_adds(&m->text, marks[i].value);
			text += strlen(marks[i].mark);
		} else {
			strbuf_addc(&m->text, *text++);
		}
	}
	return strbuf_slice(&m->text);
}

static void put_record(struct message *m, const char *text, const struct rules_query *q)
{
	struct dns_rr rr;
	uint8_t fixed[10];
	if (dns_rrtext_parse(m->rrtext, filled(m, text, q), &m->arena, &rr) < 0) {
		fail(m, text, dns_rrtext_error(m->rrtext));
		return;
	}
	dns_put16(fixed, rr.type);
	dns_put16(fixed + 2, rr.cls);
	dns_put32(fixed + 4, rr.ttl);
	dns_put16(fixed + 8, rr.rdlen);
	put(m, rr.owner, rr.owner_len);
	put(m, fixed, sizeof(fixed));
	put(m, rr.rdata, rr.rdlen);
}

static unsigned put_section(struct message *m, const struct rules_reply *r,
			    const struct rules_query *q, const char *section)
{
	unsigned n = 0;
	for (size_t i = 0; i < r->n; i++) {
		if (strcmp(r->word[i].word, section) != 0)
			continue;
		put_record(m, r->word[i].rest, q);
		n++;
	}
	return n;
}

/* `SIZE do opt=CODE:HEX`; NULL: as the query had it. */
static void put_opt(struct message *m, const char *text, const struct rules_query *q,
		    unsigned rcode)
{
	struct slice rest = slice_of(text);
	struct slice size = slice_cut(&rest, ' ');
	uint64_t udp_size = EDNS_SIZE;
	bool dnssec_ok = text == NULL && q->dnssec_ok;
	if (text != NULL && slice_u64(size, &udp_size) < 0)
		fail(m, "no EDNS size", text);
	put(m, "", 1);
	put16(m, DNS_TYPE_OPT);
	put16(m, (unsigned)udp_size);
	size_t ttl_at = m->n;
	put(m, "\0\0\0\0\0\0", 6);
	while (rest.n > 0) {
		struct slice word = slice_cut(&rest, ' ');
		uint64_t code;
		dnssec_ok = dnssec_ok || slice_is(word, "do");
		if (!slice_starts(word, SLICE("opt=")))
			continue;
		word = slice_from(word, 4);
		char *hex = xstrndup(word.p + slice_find(word, ':') + 1,
				     word.n - (size_t)slice_find(word, ':') - 1);
		if (slice_u64(slice_cut(&word, ':'), &code) < 0)
			fail(m, "no option code", text);
		else {
			put16(m, (unsigned)code);
			put16(m, (unsigned)strlen(hex) / 2);
			put_hex(m, hex);
		}
		free(hex);
	}
	dns_put32(m->out + ttl_at, (uint32_t)(rcode >> 4) << 24 | (dnssec_ok ? DNSSEC_OK : 0));
	dns_put16(m->out + ttl_at + 4, (uint16_t)(m->n - ttl_at - 6));
}

static unsigned put_question(struct message *m, const struct rules_reply *r,
			     const struct rules_query *q)
{
	const char *other = rules_get(r, "question");
	if (rules_get(r, "noquestion") != NULL)
		return 0;
	if (other == NULL) {
		put(m, q->msg + DNS_HEADER_BYTES, q->question_end - DNS_HEADER_BYTES);
		return 1;
	}
	struct slice rest = filled(m, other, q);
	struct slice name = slice_cut(&rest, ' '), type = slice_cut(&rest, ' ');
	uint8_t wire[DNS_NAME_MAX];
	int n = dns_name_from_text(name, wire), t = dns_type_parse(type, true);
	int c = rest.n > 0 ? dns_class_parse(rest, true) : DNS_CLASS_IN;
	if (n < 0 || t < 0 || c < 0) {
		fail(m, "no question", other);
		return 0;
	}
	put(m, wire, (size_t)n);
	put16(m, (unsigned)t);
	put16(m, (unsigned)c);
	return 1;
}

static unsigned flags_of(const struct rules_reply *r, const struct rules_query *q)
{
	struct slice rest = slice_of(rules_get(r, "flags"));
	unsigned bits = q->flags & OPCODE_BITS;
	if (rest.p == NULL)
		return bits | DNS_FLAG_QR | DNS_FLAG_RA | (q->flags & (DNS_FLAG_RD | DNS_FLAG_CD));
	while (rest.n > 0)
		bits |= rules_flag(slice_cut(&rest, ' '));
	return bits;
}

static void put_message(struct message *m, const struct rules_reply *r, const struct rules_query *q,
			uint16_t id)
{
	const char *rcode_text = rules_get(r, "rcode"), *edns = rules_get(r, "edns");
	int rcode = rcode_text != NULL ? dns_rcode_parse(slice_of(rcode_text)) : 0;
	bool cut = rules_get(r, "truncate") != NULL && !q->tcp;
	unsigned count[4] = { 0 };
	if (rcode < 0)
		fail(m, "no rcode", rcode_text);
	put16(m, id);
	put16(m, flags_of(r, q) | ((unsigned)rcode & 15) | (cut ? DNS_FLAG_TC : 0));
	put(m, "\0\0\0\0\0\0\0\0", 8);
	count[0] = put_question(m, r, q);
	if (!cut) {
		count[1] = put_section(m, r, q, "answer");
		count[2] = put_section(m, r, q, "authority");
		count[3] = put_section(m, r, q, "additional");
	}
	if (edns != NULL || (q->edns && rules_get(r, "noedns") == NULL)) {
		put_opt(m, edns, q, (unsigned)rcode);
		count[3]++;
	}
	for (size_t i = 0; i < ARRAY_LEN(count); i++)
		dns_put16(m->out + 4 + 2 * i, (uint16_t)count[i]);
}

uint8_t *message_build(struct message *m, const struct rules_reply *r, const struct rules_query *q,
		       size_t *ret_n)
{
	const char *raw = rules_get(r, "raw"), *garbage = rules_get(r, "garbage");
	const char *id_text = rules_get(r, "id");
	uint64_t more = id_text != NULL;
	m->n = 0;
	m->error[0] = '\0';
	arena_init_fixed(&m->arena, m->block, sizeof(m->block));
	if (id_text != NULL && id_text[0] != '\0' && slice_u64(slice_of(id_text), &more) < 0)
		fail(m, "no number", id_text);
	uint16_t id = (uint16_t)(dns_get16(q->msg) + more);
	if (garbage != NULL) {
		put_hex(m, garbage);
	} else if (raw != NULL) {
		put16(m, id);
		put_hex(m, raw);
	} else {
		put_message(m, r, q, id);
	}
	if (m->error[0] != '\0')
		return NULL;
	*ret_n = m->n;
	return xmemdup(m->out, m->n);
}
