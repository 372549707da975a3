/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Responses that arrive as bytes: taking one over, and opening it into records with the names
 * inside their data decompressed (libknot's descriptors say where those are). */
#include <string.h>

#include <libknot/descriptor.h>

#include "base/err.h"
#include "dns/resp.h"

struct wire_rr {
	size_t owner_off;
	uint16_t type, cls, rdlen;
	uint32_t ttl;
	size_t rdata_off;
	size_t end;
};

static int wire_rr_read(const uint8_t *msg, size_t len, size_t off, struct wire_rr *ret)
{
	int end = dns_name_skip(msg, len, off);
	if (end < 0 || (size_t)end + 10 > len)
		return ERR_PARSE;
	const uint8_t *p = msg + end;
	*ret = (struct wire_rr){
		.owner_off = off,
		.type = dns_get16(p),
		.cls = dns_get16(p + 2),
		.ttl = dns_get32(p + 4),
		.rdlen = dns_get16(p + 8),
		.rdata_off = (size_t)end + 10,
	};
	ret->end = ret->rdata_off + ret->rdlen;
	return ret->end <= len ? 0 : ERR_PARSE;
}

static int question_end(const uint8_t *msg, size_t len)
{
	size_t off = DNS_HEADER_BYTES;
	for (unsigned i = dns_get16(msg + 4); i > 0; i--) {
		int end = dns_name_skip(msg, len, off);
		if (end < 0 || (size_t)end + 4 > len)
			return ERR_PARSE;
		off = (size_t)end + 4;
	}
	return (int)off;
}

static void take_opt(struct dns_resp *resp, uint8_t *msg, const struct wire_rr *rr)
{
	resp->has_opt = true;
	resp->opt_udp_size = rr->cls;
	resp->opt_do = (rr->ttl & 0x8000) != 0;
	resp->rcode = (uint16_t)((rr->ttl >> 24) << 4 | (resp->rcode & 15));
	resp->options = msg + rr->rdata_off;
	resp->options_len = rr->rdlen;
}

/* Reads the record at *at and goes behind it. There should be one OPT of the root at the end, but
 * upstreams send several, of other names and before other records: the last one counts. */
static int take_record(struct dns_resp *resp, uint8_t *msg, size_t len, enum dns_section section,
		       size_t *at)
{
	struct wire_rr rr;
	if (wire_rr_read(msg, len, *at, &rr) < 0)
		return ERR_PARSE;
	if (section == DNS_ADDITIONAL && rr.type == DNS_TYPE_OPT) {
		if (!resp->has_opt)
			resp->opt_at = (uint16_t)*at;
		take_opt(resp, msg, &rr);
	} else {
		resp->opt_at = 0;
		resp->count[section]++;
	}
	*at = rr.end;
	return 0;
}

int dns_resp_from_wire(struct dns_resp *resp, struct arena *arena, uint8_t *msg, size_t len)
{
	(void)arena;
	if (len < DNS_HEADER_BYTES || len > UINT16_MAX)
		return ERR_PARSE;
	int off = question_end(msg, len);
	if (off < 0)
		return off;
	uint16_t flags = dns_get16(msg + 2);
	struct dns_resp r = {
		.flags = flags & 0xfff0, .rcode = flags & 15, .msg = msg, .msg_len = (uint32_t)len
	};
	size_t at = (size_t)off;
	for (int s = 0; s < DNS_SECTIONS; s++) {
		unsigned count = dns_get16(msg + 6 + 2 * s);
		for (unsigned i = 0; i < count; i++) {
			if (take_record(&r, msg, len, (enum dns_section)s, &at) < 0)
				return ERR_PARSE;
		}
	}
	*resp = r;
	return 0;
}

/* Opened rdata; without a buffer only its size is found. */
struct rdata_out {
	uint8_t *buf;
	size_t n;
};

static int put_raw(struct rdata_out *out, const uint8_t *data, size_t len)
{
	if (out->n + len > UINT16_MAX)
		return ERR_SPACE;
	if (out->buf != NULL)
		memcpy(out->buf + out->n, data, len);
	out->n += len;
	return 0;
}

static int put_name(struct rdata_out *out, const uint8_t *msg, size_t len, size_t *off)
{
	uint8_t name[DNS_NAME_MAX];
	int end = dns_name_unpack(msg, len, *off, name);
	if (end < 0)
		return end;
	*off = (size_t)end;
	return put_raw(out, name, dns_name_len(name));
}

/* Length of a NAPTR's two numbers and three strings before its name, or ERR_PARSE. */
static int naptr_header(const uint8_t *data, size_t len)
{
	size_t at = 4;
	for (int i = 0; i < 3; i++) {
		if (at >= len)
			return ERR_PARSE;
		at += data[at] + 1U;
	}
	return at <= len ? (int)at : ERR_PARSE;
}

/* Copies rdata with its names decompressed. `msg_end` bounds the rdata; pointers may go back. */
static int open_rdata(struct rdata_out *out, const uint8_t *msg, const struct wire_rr *rr)
{
	const knot_rdata_descriptor_t *d = knot_get_rdata_descriptor(rr->type);
	if (d->type_name == NULL) /* MB, MG, MR, PX...: names that may come compressed, too */
		d = knot_get_obsolete_rdata_descriptor(rr->type);
	size_t off = rr->rdata_off;
	out->n = 0;
	for (int i = 0; d->block_types[i] != KNOT_RDATA_WF_END && off < rr->end; i++) {
		int r, block = d->block_types[i];
		size_t take;
		switch (block) {
		case KNOT_RDATA_WF_COMPRESSIBLE_DNAME:
		case KNOT_RDATA_WF_DECOMPRESSIBLE_DNAME:
		case KNOT_RDATA_WF_FIXED_DNAME:
			r = put_name(out, msg, rr->end, &off);
			if (r < 0)
				return r;
			continue;
		case KNOT_RDATA_WF_NAPTR_HEADER:
			r = naptr_header(msg + off, rr->end - off);
			if (r < 0)
				return r;
			take = (size_t)r;
			break;
		case KNOT_RDATA_WF_REMAINDER:
			take = rr->end - off;
			break;
		default:
			take = (size_t)block;
			break;
		}
		if (take > rr->end - off || put_raw(out, msg + off, take) < 0)
			return ERR_PARSE;
		off += take;
	}
	return off == rr->end ? 0 : ERR_PARSE;
}

static bool strings_valid(const uint8_t *data, size_t len)
{
	size_t at = 0;
	while (at < len)
		at += data[at] + 1U;
	return at == len;
}

bool dns_rdata_valid(const uint8_t *msg, size_t off, uint16_t rdlen, uint16_t type)
{
	struct rdata_out size = { 0 };
	if (rdlen == 0)
		return true;
	if (type == DNS_TYPE_TXT || type == DNS_TYPE_HINFO)
		return strings_valid(msg + off, rdlen);
	struct wire_rr rr = { .type = type, .rdlen = rdlen, .rdata_off = off, .end = off + rdlen };
	return open_rdata(&size, msg, &rr) == 0;
}

/* Length of the name at `at` when written out, or ERR_PARSE. Most are pointers to the question. */
static int name_size(const uint8_t *msg, size_t len, size_t at, size_t question_len)
{
	uint8_t name[DNS_NAME_MAX];
	if (at + 2 <= len && dns_get16(msg + at) == (0xc000 | DNS_HEADER_BYTES) && question_len > 4)
		return (int)question_len - 4;
	int r = dns_name_unpack(msg, len, at, name);
	return r < 0 ? r : (int)dns_name_len(name);
}

static size_t open_rdata_size(const uint8_t *msg, const struct wire_rr *rr)
{
	struct rdata_out rdata = { 0 };
	if (rr->type == DNS_TYPE_A || rr->type == DNS_TYPE_AAAA)
		return rr->rdlen;
	IGNORE(open_rdata(&rdata, msg, rr) < 0); /* then as far as it was read */
	return rdata.n;
}

size_t dns_resp_open_size(const struct dns_resp *resp)
{
	int off = question_end(resp->msg, resp->msg_len);
	size_t at = (size_t)MAX(off, 0);
	size_t size = at;
	bool one = dns_get16(resp->msg + 4) == 1;
	size_t question_len = one && off > 0 ? (size_t)off - DNS_HEADER_BYTES : 0;
	unsigned left = (unsigned)resp->count[0] + resp->count[1] + resp->count[2];
	while (off >= 0 && left > 0) {
		struct wire_rr w;
		if (wire_rr_read(resp->msg, resp->msg_len, at, &w) < 0)
			break;
		int owner = name_size(resp->msg, resp->msg_len, at, question_len);
		if (owner < 0)
			break;
		at = w.end;
		if (w.type == DNS_TYPE_OPT)
			continue;
		size += (size_t)owner + 10 + open_rdata_size(resp->msg, &w);
		left--;
	}
	return size;
}

static int open_rr(struct dns_resp *resp, struct arena *arena, enum dns_section section,
		   const struct wire_rr *wire_rr)
{
	uint8_t owner[DNS_NAME_MAX];
	struct rdata_out rdata = { 0 };
	int r = dns_name_unpack(resp->msg, resp->msg_len, wire_rr->owner_off, owner);
	if (r >= 0)
		r = open_rdata(&rdata, resp->msg, wire_rr);
	if (r < 0)
		return r;
	struct dns_rr *rr = arena_alloc(arena, sizeof(*rr));
	size_t owner_len = dns_name_len(owner);
	const uint8_t *owner_copy = arena_memdup(arena, owner, owner_len);
	rdata.buf = arena_alloc(arena, rdata.n);
	if (rr == NULL || owner_copy == NULL || rdata.buf == NULL)
		return ERR_SPACE;
	r = open_rdata(&rdata, resp->msg, wire_rr);
	if (r < 0)
		return r;
	*rr = (struct dns_rr){
		.owner = owner_copy,
		.owner_len = (uint8_t)owner_len,
		.rdata = rdata.buf,
		.rdlen = (uint16_t)rdata.n,
		.ttl = wire_rr->ttl,
		.type = wire_rr->type,
		.cls = wire_rr->cls,
	};
	dns_resp_link(resp, section, rr);
	return 0;
}

int dns_resp_thaw(struct dns_resp *resp, struct arena *arena)
{
	if (resp->msg == NULL)
		return 0;
	struct dns_resp open = *resp; /* on failure the wire form stays as it was */
	const uint8_t *msg = resp->msg;
	size_t n = resp->msg_len;
	int off = question_end(msg, n);
	if (off < 0)
		return off;
	size_t at = (size_t)off;
	for (int s = 0; s < DNS_SECTIONS; s++) {
		unsigned count = dns_get16(msg + 6 + 2 * s);
		dns_resp_clear(&open, (enum dns_section)s);
		for (unsigned i = 0; i < count; i++) {
			struct wire_rr w;
			if (wire_rr_read(msg, n, at, &w) < 0)
				return ERR_PARSE;
			at = w.end;
			if (s == DNS_ADDITIONAL && w.type == DNS_TYPE_OPT)
				continue;
			int r = open_rr(&open, arena, (enum dns_section)s, &w);
			if (r < 0)
				return r;
		}
	}
	open.msg = NULL;
	open.msg_len = 0;
	open.body_at = 0;
	open.note = NULL;
	open.noted = 0;
	*resp = open;
	return 0;
}
