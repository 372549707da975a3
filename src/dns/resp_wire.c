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

static int wire_rr_read(const uint8_t *msg, size_t n, size_t off, struct wire_rr *ret)
{
	int end = dns_name_skip(msg, n, off);
	if (end < 0 || (size_t)end + 10 > n)
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
	return ret->end <= n ? 0 : ERR_PARSE;
}

static int question_end(const uint8_t *msg, size_t n)
{
	size_t off = DNS_HEADER_BYTES;
	for (unsigned i = dns_get16(msg + 4); i > 0; i--) {
		int end = dns_name_skip(msg, n, off);
		if (end < 0 || (size_t)end + 4 > n)
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

int dns_resp_from_wire(struct dns_resp *resp, struct arena *a, uint8_t *msg, size_t n)
{
	(void)a;
	if (n < DNS_HEADER_BYTES || n > UINT16_MAX)
		return ERR_PARSE;
	int off = question_end(msg, n);
	if (off < 0)
		return off;
	uint16_t flags = dns_get16(msg + 2);
	struct dns_resp r = {
		.flags = flags & 0xfff0, .rcode = flags & 15, .msg = msg, .msg_len = (uint32_t)n
	};
	size_t at = (size_t)off;
	for (int s = 0; s < DNS_SECTIONS; s++) {
		unsigned count = dns_get16(msg + 6 + 2 * s);
		for (unsigned i = 0; i < count; i++) {
			struct wire_rr rr;
			if (wire_rr_read(msg, n, at, &rr) < 0)
				return ERR_PARSE;
			at = rr.end;
			if (s == DNS_ADDITIONAL && rr.type == DNS_TYPE_OPT)
				take_opt(&r, msg, &rr);
			else
				r.count[s]++;
		}
	}
	*resp = r;
	return 0;
}

struct rdata_out {
	uint8_t buf[UINT16_MAX];
	size_t n;
};

static int put_raw(struct rdata_out *o, const uint8_t *p, size_t n)
{
	if (o->n + n > sizeof(o->buf))
		return ERR_SPACE;
	memcpy(o->buf + o->n, p, n);
	o->n += n;
	return 0;
}

static int put_name(struct rdata_out *o, const uint8_t *msg, size_t n, size_t *off)
{
	uint8_t name[DNS_NAME_MAX];
	int end = dns_name_unpack(msg, n, *off, name);
	if (end < 0)
		return end;
	*off = (size_t)end;
	return put_raw(o, name, dns_name_len(name));
}

/* Length of a NAPTR's two numbers and three strings before its name, or ERR_PARSE. */
static int naptr_header(const uint8_t *p, size_t n)
{
	size_t at = 4;
	for (int i = 0; i < 3; i++) {
		if (at >= n)
			return ERR_PARSE;
		at += p[at] + 1U;
	}
	return at <= n ? (int)at : ERR_PARSE;
}

/* Copies rdata with its names decompressed. `msg_end` bounds the rdata; pointers may go back. */
static int open_rdata(struct rdata_out *o, const uint8_t *msg, const struct wire_rr *rr)
{
	const knot_rdata_descriptor_t *d = knot_get_rdata_descriptor(rr->type);
	size_t off = rr->rdata_off;
	o->n = 0;
	for (int i = 0; d->block_types[i] != KNOT_RDATA_WF_END && off < rr->end; i++) {
		int r, block = d->block_types[i];
		size_t take;
		switch (block) {
		case KNOT_RDATA_WF_COMPRESSIBLE_DNAME:
		case KNOT_RDATA_WF_DECOMPRESSIBLE_DNAME:
		case KNOT_RDATA_WF_FIXED_DNAME:
			r = put_name(o, msg, rr->end, &off);
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
		if (take > rr->end - off || put_raw(o, msg + off, take) < 0)
			return ERR_PARSE;
		off += take;
	}
	return off == rr->end ? 0 : ERR_PARSE;
}

static int open_rr(struct dns_resp *resp, struct arena *a, enum dns_section s,
		   const struct wire_rr *w, struct rdata_out *scratch)
{
	uint8_t owner[DNS_NAME_MAX];
	int r = dns_name_unpack(resp->msg, resp->msg_len, w->owner_off, owner);
	if (r >= 0)
		r = open_rdata(scratch, resp->msg, w);
	if (r < 0)
		return r;
	struct dns_rr *rr = arena_alloc(a, sizeof(*rr));
	if (rr == NULL)
		return ERR_SPACE;
	size_t owner_len = dns_name_len(owner);
	*rr = (struct dns_rr){
		.owner = arena_memdup(a, owner, owner_len),
		.owner_len = (uint8_t)owner_len,
		.rdata = arena_memdup(a, scratch->buf, scratch->n),
		.rdlen = (uint16_t)scratch->n,
		.ttl = w->ttl,
		.type = w->type,
		.cls = w->cls,
	};
	if (rr->owner == NULL || rr->rdata == NULL)
		return ERR_SPACE;
	dns_resp_link(resp, s, rr);
	return 0;
}

int dns_resp_thaw(struct dns_resp *resp, struct arena *a)
{
	static _Thread_local struct rdata_out scratch;
	if (resp->msg == NULL)
		return 0;
	const uint8_t *msg = resp->msg;
	size_t n = resp->msg_len;
	int off = question_end(msg, n);
	if (off < 0)
		return off;
	size_t at = (size_t)off;
	for (int s = 0; s < DNS_SECTIONS; s++) {
		unsigned count = dns_get16(msg + 6 + 2 * s);
		resp->count[s] = 0;
		for (unsigned i = 0; i < count; i++) {
			struct wire_rr w;
			if (wire_rr_read(msg, n, at, &w) < 0)
				return ERR_PARSE;
			at = w.end;
			if (s == DNS_ADDITIONAL && w.type == DNS_TYPE_OPT)
				continue;
			int r = open_rr(resp, a, (enum dns_section)s, &w, &scratch);
			if (r < 0)
				return r;
		}
	}
	resp->msg = NULL;
	resp->msg_len = 0;
	return 0;
}
