/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading header, question and OPT of a request; names lower-cased eight bytes at a time. */
#include "dns/request.h"

#include <string.h>

#include "base/err.h"
#include "dns/types.h"

enum { HASH_SEED = 0x51ed270b };

/* Lower-cases the letters among eight bytes. Length bytes (at most 63) lie below 'A'. */
static ALWAYS_INLINE uint64_t lower_8_bytes(uint64_t word)
{
	uint64_t ones = 0x0101010101010101;
	uint64_t low7 = word & (ones * 0x7f);
	uint64_t ge_a = low7 + ones * (0x80 - 'A');
	uint64_t gt_z = low7 + ones * (0x80 - 'Z' - 1);
	uint64_t is_upper = (ge_a ^ gt_z) & ~word & (ones * 0x80);
	return word | is_upper >> 2;
}

static ALWAYS_INLINE uint32_t mix_hash(uint32_t hash, uint64_t word)
{
	uint64_t x = (hash ^ word) * 0x9e3779b97f4a7c15;
	return (uint32_t)(x >> 32) ^ (uint32_t)x;
}

/* `p` points at a label's length byte; HASH_OVERREAD bytes after the label may be read. */
enum { HASH_OVERREAD = 8 };
static ALWAYS_INLINE uint32_t hash_label(uint32_t hash, const uint8_t *pos)
{
	size_t n = (size_t)pos[0] + 1;
	uint64_t w;
	for (; n >= 8; n -= 8, pos += 8) {
		memcpy(&w, pos, 8);
		hash = mix_hash(hash, w);
	}
	memcpy(&w, pos, 8);
	return mix_hash(hash, w & ((UINT64_C(1) << 8 * n) - 1));
}

static void index_labels(struct dns_qname *qname)
{
	unsigned n = 0;
	for (size_t at = 0; qname->wire[at] != 0; at += qname->wire[at] + 1U)
		qname->label[n++] = (uint8_t)at;
	qname->n_labels = (uint8_t)n;
	qname->label[n] = (uint8_t)(qname->len - 1);
	uint32_t h = HASH_SEED;
	qname->hash[1] = h; /* of the root's parent, so to say */
	qname->hash[n] = h;
	while (n-- > 0) {
		h = hash_label(h, qname->wire + qname->label[n]);
		qname->hash[n] = h;
	}
}

void dns_qname_set(struct dns_qname *qname, const uint8_t *name)
{
	size_t n = dns_name_len(name);
	uint64_t w, l, changed = 0;
	size_t i = 0;
	for (; i + 8 <= n; i += 8) {
		memcpy(&w, name + i, 8);
		l = lower_8_bytes(w);
		changed |= w ^ l;
		memcpy(qname->wire + i, &l, 8);
	}
	w = 0;
	memcpy(&w, name + i, n - i);
	l = lower_8_bytes(w);
	changed |= w ^ l;
	memcpy(qname->wire + i, &l, n - i);
	qname->len = (uint8_t)n;
	qname->has_upper = changed != 0;
	index_labels(qname);
}

uint32_t dns_name_hash(const uint8_t *lower_name)
{
	struct dns_qname q;
	dns_qname_set(&q, lower_name);
	return q.hash[0];
}

/* The question's name must stand there in full: pointers have nothing to point to yet. */
static int plain_name_end(const uint8_t *msg, size_t size, size_t off)
{
	size_t start = off;
	for (;;) {
		if (off >= size || off - start >= DNS_NAME_MAX)
			return ERR_PARSE;
		uint8_t len = msg[off];
		if (len == 0)
			return (int)off + 1;
		if (len > DNS_LABEL_MAX)
			return ERR_PARSE;
		off += len + 1U;
	}
}

bool dns_option_next(const struct dns_opt *opt, size_t *pos, struct dns_option *ret)
{
	if (*pos + 4 > opt->options_len)
		return false;
	const uint8_t *p = opt->options + *pos;
	uint16_t len = dns_get16(p + 2);
	if (*pos + 4 + len > opt->options_len)
		return false;
	*ret = (struct dns_option){ .code = dns_get16(p), .len = len, .data = p + 4 };
	*pos += 4U + len;
	return true;
}

static int read_opt(const uint8_t *rr, const uint8_t *rdata, uint16_t rdlen,
		    struct dns_opt *dns_opt)
{
	*dns_opt = (struct dns_opt){
		.present = true,
		.udp_size = dns_get16(rr + 2),
		.ext_rcode = rr[4],
		.version = rr[5],
		.dnssec_ok = (rr[6] & 0x80) != 0,
		.z = dns_get16(rr + 6) & 0x7fff,
		.options = rdata,
		.options_len = rdlen,
		.got_len = (uint16_t)(DNS_OPT_BYTES + rdlen),
	};
	size_t pos = 0;
	struct dns_option opt;
	while (dns_option_next(dns_opt, &pos, &opt)) {
		if (!dns_option_valid(&opt))
			return ERR_PARSE;
	}
	return pos == rdlen ? 0 : ERR_PARSE;
}

/* One record at *off: owner and data must be well formed; an OPT in the additional section is read.
 */
static int read_record(struct dns_request *request, size_t *off, bool additional)
{
	uint8_t owner[DNS_NAME_MAX];
	int end = request->msg[*off] == 0
			  ? (int)*off + 1
			  : dns_name_unpack(request->msg, request->len, *off, owner);
	if (end < 0 || (size_t)end + 10 > request->len)
		return ERR_PARSE;
	const uint8_t *rr = request->msg + end;
	size_t rdata = (size_t)end + 10;
	uint16_t type = dns_get16(rr);
	uint16_t rdlen = dns_get16(rr + 8);
	*off = rdata + rdlen;
	if (*off > request->len)
		return ERR_PARSE;
	struct dns_opt elsewhere; /* it counts for nothing, but must be well formed */
	if (type == DNS_TYPE_OPT)
		return read_opt(rr, request->msg + rdata, rdlen,
				additional ? &request->opt : &elsewhere);
	return dns_rdata_valid(request->msg, rdata, rdlen, type) ? 0 : ERR_PARSE;
}

/* Counts may promise more than there is, as long as the message ends with a record. */
static int read_records(struct dns_request *request, size_t off)
{
	unsigned before = (unsigned)dns_get16(request->msg + 6) + dns_get16(request->msg + 8);
	unsigned count = before + dns_get16(request->msg + 10);
	for (unsigned i = 0; i < count && off < request->len; i++) {
		if (read_record(request, &off, i >= before) < 0)
			return ERR_PARSE;
	}
	return 0;
}

static enum dns_admit admit_header(const uint8_t *msg, uint16_t opcodes,
				   struct dns_request *request)
{
	bool known = request->opcode == DNS_OPCODE_QUERY || request->opcode == DNS_OPCODE_NOTIFY;
	bool opted_in = (opcodes >> request->opcode & 1) != 0;
	if ((request->flags & DNS_FLAG_QR) != 0)
		return DNS_ADMIT_IGNORE;
	if (!known && !opted_in)
		return DNS_ADMIT_NOTIMP;
	if (dns_get16(msg + 4) != 1)
		return DNS_ADMIT_FORMERR;
	if (!opted_in &&
	    (dns_get16(msg + 6) > 1 || dns_get16(msg + 8) > 1 || dns_get16(msg + 10) > 2))
		return DNS_ADMIT_FORMERR;
	return DNS_ADMIT_OK;
}

enum dns_admit dns_request_parse(uint8_t *msg, size_t len, uint16_t opcodes,
				 struct dns_request *request)
{
	if (len < DNS_HEADER_BYTES)
		return DNS_ADMIT_IGNORE;
	request->msg = msg;
	request->len = len;
	request->id = dns_get16(msg);
	request->flags = dns_get16(msg + 2);
	request->opcode = (uint8_t)(request->flags >> 11 & 15);
	request->opt = (struct dns_opt){ 0 };
	request->question_len = 0;
	enum dns_admit a = admit_header(msg, opcodes, request);
	if (a != DNS_ADMIT_OK)
		return a;
	if (len == DNS_HEADER_BYTES)
		return DNS_ADMIT_EMPTY;
	int end = plain_name_end(msg, len, DNS_HEADER_BYTES);
	if (end < 0 || (size_t)end + 1 == len || (size_t)end + 3 == len)
		return DNS_ADMIT_FORMERR;
	if ((size_t)end + 4 > len) {
		memset(msg + len, 0, (size_t)end + 4 - len);
	}
	request->qname = msg + DNS_HEADER_BYTES;
	request->qtype = dns_get16(msg + end);
	request->qclass = dns_get16(msg + end + 2);
	request->question_len = (uint16_t)(end + 4 - DNS_HEADER_BYTES);
	if (read_records(request, (size_t)end + 4) < 0)
		return DNS_ADMIT_FORMERR;
	return DNS_ADMIT_OK;
}
