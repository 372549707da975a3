/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing a response: name compression, truncation record by record, OPT last.
 *
 * Nearly every reply has the question's name as its only owner, so that case is tested first (a
 * pointer to offset 12) and the table of names is set up only when another name appears. */
#include <string.h>

#include "base/err.h"
#include "dns/message.h"
#include "dns/resp.h"

enum {
	COMP_SLOTS = 256, /* power of two */
	COMP_MAX = 128,	  /* names remembered */
	POINTER_MAX = 0x3fff,
};

struct encoder {
	const struct dns_encode *in;
	uint8_t *out;
	size_t n;
	size_t limit;
	bool table_ready;
	bool question_lower; /* the question is in lower case: qname's bytes are its bytes */
	unsigned n_comp;
	uint16_t comp[COMP_SLOTS]; /* offset of a name in out; 0: free */
};

static ALWAYS_INLINE uint32_t hash_step(uint32_t hash, const uint8_t *label)
{
	for (unsigned i = 0; i <= label[0]; i++)
		hash = (hash ^ label[i]) * 16777619U;
	return hash ^ hash >> 15;
}

/* Is the name at `off` of the message exactly `name` (uncompressed, same case)? */
static bool same_at(const struct encoder *encoder, size_t off, const uint8_t *name)
{
	for (;;) {
		uint8_t len = encoder->out[off];
		if (len > DNS_LABEL_MAX) {
			off = (size_t)(len & 0x3f) << 8 | encoder->out[off + 1];
			continue;
		}
		if (len != name[0] || memcmp(encoder->out + off, name, len + 1U) != 0)
			return false;
		if (len == 0)
			return true;
		off += len + 1U;
		name += len + 1U;
	}
}

/* Slot of a suffix: holding its offset, or free. */
static unsigned comp_slot(const struct encoder *encoder, uint32_t hash, const uint8_t *name)
{
	unsigned i = hash & (COMP_SLOTS - 1);
	while (encoder->comp[i] != 0 && !same_at(encoder, encoder->comp[i], name))
		i = (i + 1) & (COMP_SLOTS - 1);
	return i;
}

static unsigned label_offsets(const uint8_t *name, uint8_t at[DNS_LABELS_MAX + 1],
			      uint32_t hash[DNS_LABELS_MAX + 1])
{
	unsigned n = 0;
	for (size_t i = 0; name[i] != 0; i += name[i] + 1U)
		at[n++] = (uint8_t)i;
	uint32_t h = 2166136261U;
	for (unsigned i = n; i-- > 0;) {
		h = hash_step(h, name + at[i]);
		hash[i] = h;
	}
	return n;
}

/* Remembers the first `upto` suffixes of a name that now stands at `off`. */
static void comp_remember(struct encoder *encoder, size_t off, const uint8_t *name,
			  const uint8_t *at, const uint32_t *hash, unsigned upto)
{
	for (unsigned i = 0; i < upto; i++) {
		if (off + at[i] > POINTER_MAX || encoder->n_comp >= COMP_MAX)
			return;
		unsigned slot = comp_slot(encoder, hash[i], name + at[i]);
		if (encoder->comp[slot] == 0) {
			encoder->comp[slot] = (uint16_t)(off + at[i]);
			encoder->n_comp++;
		}
	}
}

static void comp_init(struct encoder *encoder)
{
	uint8_t at[DNS_LABELS_MAX + 1];
	uint32_t hash[DNS_LABELS_MAX + 1];
	memset(encoder->comp, 0, sizeof(encoder->comp));
	encoder->n_comp = 0;
	encoder->table_ready = true;
	if (encoder->in->question_len != 0) {
		unsigned n = label_offsets(encoder->in->question, at, hash);
		comp_remember(encoder, DNS_HEADER_BYTES, encoder->in->question, at, hash, n);
	}
}

/* Appends a name, compressed; false when it does not fit. */
static bool put_name(struct encoder *encoder, const uint8_t *name, size_t len)
{
	uint8_t at[DNS_LABELS_MAX + 1];
	uint32_t hash[DNS_LABELS_MAX + 1];
	if (!encoder->table_ready)
		comp_init(encoder);
	unsigned n = label_offsets(name, at, hash);
	unsigned i = 0;
	uint16_t found = 0;
	for (; i < n && found == 0; i++)
		found = encoder->comp[comp_slot(encoder, hash[i], name + at[i])];
	if (found != 0)
		i--;
	size_t plain = found != 0 ? at[i] : len;
	if (encoder->n + plain + (found != 0 ? 2 : 0) > encoder->limit)
		return false;
	size_t start = encoder->n;
	memcpy(encoder->out + encoder->n, name, plain);
	encoder->n += plain;
	if (found != 0) {
		dns_put16(encoder->out + encoder->n, (uint16_t)(0xc000 | found));
		encoder->n += 2;
	}
	comp_remember(encoder, start, name, at, hash, i);
	return true;
}

/* Appends a name as it is, for others to point to; false when it does not fit. */
static bool put_plain_name(struct encoder *encoder, const uint8_t *name, size_t len)
{
	uint8_t at[DNS_LABELS_MAX + 1];
	uint32_t hash[DNS_LABELS_MAX + 1];
	if (encoder->n + len > encoder->limit)
		return false;
	memcpy(encoder->out + encoder->n, name, len);
	encoder->n += len;
	/* Nobody points to the root. */
	if (len == 1)
		return true;
	if (!encoder->table_ready)
		comp_init(encoder);
	unsigned n = label_offsets(name, at, hash);
	comp_remember(encoder, encoder->n - len, name, at, hash, n);
	return true;
}

static bool is_question_name(const struct encoder *encoder, const struct dns_rr *rr)
{
	const struct dns_qname *q = encoder->in->qname;
	return encoder->question_lower && rr->owner_len == q->len &&
	       (rr->owner == q->wire || memcmp(rr->owner, q->wire, q->len) == 0);
}

/* Rdata with names: fixed bytes, then that many names. RFC 3597 allows to compress them, but that
 * of SRV (RFC 2782), which the addresses behind it point to. */
static const struct {
	uint8_t type;
	uint8_t fixed;
	uint8_t names;
	bool (*put)(struct encoder *encoder, const uint8_t *name, size_t len);
} with_names[] = {
	{ DNS_TYPE_NS, 0, 1, put_name },  { DNS_TYPE_CNAME, 0, 1, put_name },
	{ DNS_TYPE_SOA, 0, 2, put_name }, { DNS_TYPE_PTR, 0, 1, put_name },
	{ DNS_TYPE_MX, 2, 1, put_name },  { DNS_TYPE_SRV, 6, 1, put_plain_name },
};

static bool put_bytes(struct encoder *encoder, const uint8_t *data, size_t len)
{
	if (encoder->n + len > encoder->limit)
		return false;
	if (len != 0)
		memcpy(encoder->out + encoder->n, data, len);
	encoder->n += len;
	return true;
}

static bool put_rdata(struct encoder *encoder, const struct dns_rr *rr)
{
	size_t i = 0;
	while (i < ARRAY_LEN(with_names) && with_names[i].type != rr->type)
		i++;
	/* Too short for its type: no data at all, as in an update. */
	if (i == ARRAY_LEN(with_names) || with_names[i].fixed > rr->rdlen)
		return put_bytes(encoder, rr->rdata, rr->rdlen);
	const uint8_t *p = rr->rdata;
	const uint8_t *end = p + rr->rdlen;
	if (!put_bytes(encoder, p, with_names[i].fixed))
		return false;
	p += with_names[i].fixed;
	for (unsigned k = 0; k < with_names[i].names && p < end; k++) {
		size_t len = dns_name_len(p);
		if (!with_names[i].put(encoder, p, len))
			return false;
		p += len;
	}
	return put_bytes(encoder, p, (size_t)(end - p));
}

static bool put_rr(struct encoder *encoder, const struct dns_rr *rr)
{
	if (is_question_name(encoder, rr)) {
		if (encoder->n + 2 > encoder->limit)
			return false;
		dns_put16(encoder->out + encoder->n, 0xc000 | DNS_HEADER_BYTES);
		encoder->n += 2;
	} else if (!put_name(encoder, rr->owner, rr->owner_len)) {
		return false;
	}
	if (encoder->n + 10 > encoder->limit)
		return false;
	uint8_t *p = encoder->out + encoder->n;
	dns_put16(p, rr->type);
	dns_put16(p + 2, rr->cls);
	dns_put32(p + 4, rr->ttl);
	encoder->n += 10;
	if (!put_rdata(encoder, rr))
		return false;
	dns_put16(p + 8, (uint16_t)(encoder->out + encoder->n - p - 10));
	return true;
}

static void put_opt(struct encoder *encoder, const struct dns_resp *resp)
{
	struct dns_opt opt = { .udp_size = resp->opt_udp_size,
			       .ext_rcode = (uint8_t)(resp->rcode >> 4),
			       .dnssec_ok = resp->opt_do,
			       .z = resp->opt_z,
			       .options = resp->options,
			       .options_len = resp->options_len };
	encoder->n += dns_message_put_opt(encoder->out + encoder->n, &opt);
}

static void put_header(const struct encoder *encoder, const struct dns_resp *resp,
		       const uint16_t count[DNS_SECTIONS])
{
	uint8_t *p = encoder->out;
	dns_put16(p, encoder->in->id);
	dns_put16(p + 2, (uint16_t)(resp->flags | (resp->rcode & 15)));
	dns_put16(p + 4, encoder->in->question_len != 0);
	dns_put16(p + 6, count[DNS_ANSWER]);
	dns_put16(p + 8, count[DNS_AUTHORITY]);
	dns_put16(p + 10, (uint16_t)(count[DNS_ADDITIONAL] + resp->has_opt));
}

/* Pointers of a wire message lead into its question: they stay right when the one we write differs
 * in the case of its letters at most. */
static bool same_question_name(const uint8_t *left, const uint8_t *right, size_t len)
{
	if (memcmp(left, right, len) == 0)
		return true;
	for (size_t i = 0; i < len; i++) {
		if (ascii_lower((char)left[i]) != ascii_lower((char)right[i]))
			return false;
	}
	return true;
}

/* Copies the records, msg[start, end), behind the question. */
static int put_body(struct dns_resp *resp, struct encoder *encoder, size_t start, size_t end,
		    size_t opt_bytes)
{
	if (end + opt_bytes > encoder->limit)
		return ERR_SPACE;
	memcpy(encoder->out + encoder->n, resp->msg + start, end - start);
	encoder->n += end - start;
	put_header(encoder, resp, resp->count);
	return 0;
}

/* The records of a wire message fit unchanged. */
static int encode_wire(struct dns_resp *resp, struct encoder *encoder, size_t opt_bytes)
{
	size_t body = DNS_HEADER_BYTES + (size_t)encoder->in->question_len;
	if (resp->body_at != 0 && resp->body_at == body &&
	    same_question_name(resp->msg + DNS_HEADER_BYTES, encoder->in->question,
			       (size_t)encoder->in->question_len - 4))
		return put_body(resp, encoder, body, resp->msg_len, opt_bytes);
	int off = dns_name_skip(resp->msg, resp->msg_len, DNS_HEADER_BYTES);
	if (dns_get16(resp->msg + 4) != 1 || off < 0 ||
	    (size_t)off + 4 != DNS_HEADER_BYTES + (size_t)encoder->in->question_len ||
	    !same_question_name(resp->msg + DNS_HEADER_BYTES, encoder->in->question,
				(size_t)off - DNS_HEADER_BYTES))
		return ERR_SPACE;
	size_t start = (size_t)off + 4;
	size_t at = start;
	unsigned left = (unsigned)resp->count[0] + resp->count[1] + resp->count[2];
	for (; left > 0; left--) {
		int end = dns_name_skip(resp->msg, resp->msg_len, at);
		if (end < 0 || dns_get16(resp->msg + end) == DNS_TYPE_OPT)
			return ERR_SPACE; /* OPT in the middle: the caller opens it up */
		at = (size_t)end + 10U + dns_get16(resp->msg + end + 8);
	}
	return put_body(resp, encoder, start, at, opt_bytes);
}

static void encode_open(struct dns_resp *resp, struct encoder *encoder, size_t opt_bytes)
{
	uint16_t count[DNS_SECTIONS] = { 0 };
	bool truncated = false;
	encoder->limit -= opt_bytes;
	for (int s = 0; s < DNS_SECTIONS && !truncated; s++) {
		for (const struct dns_rr *rr = resp->first[s]; rr != NULL; rr = rr->next) {
			size_t before = encoder->n;
			if (!put_rr(encoder, rr)) {
				encoder->n = before;
				truncated = true;
				break;
			}
			count[s]++;
		}
		if (truncated)
			break;
	}
	if (truncated)
		resp->flags |= DNS_FLAG_TC; /* logs show what was sent */
	put_header(encoder, resp, count);
}

int dns_resp_encode(struct dns_resp *resp, const struct dns_encode *in, uint8_t *out, size_t cap)
{
	struct encoder e;
	size_t opt_bytes = resp->has_opt ? DNS_OPT_BYTES + (size_t)resp->options_len : 0;
	e.in = in;
	e.out = out;
	e.limit = MIN(in->limit, cap);
	e.table_ready = false;
	e.question_lower = in->question_len != 0 && in->qname != NULL && !in->qname->has_upper;
	e.n = DNS_HEADER_BYTES + (size_t)in->question_len;
	if (e.n + opt_bytes > e.limit)
		return ERR_SPACE;
	if (in->question_len != 0)
		memcpy(out + DNS_HEADER_BYTES, in->question, in->question_len);
	if (resp->msg != NULL) {
		int err = encode_wire(resp, &e, opt_bytes);
		if (err < 0)
			return err;
	} else {
		encode_open(resp, &e, opt_bytes);
	}
	if (resp->has_opt)
		put_opt(&e, resp);
	return (int)e.n;
}
