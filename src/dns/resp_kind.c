/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kinds of replies. Most follow from header and counts; records are read only where the
 * authority section or signatures decide. */
#include "dns/resp_kind.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "dns/rrwalk.h"

struct seen {
	bool soa, ns;
	bool check_time;
	bool expired;
	int64_t now_s;
};

static const struct {
	const char *name;
	enum dns_reply_class cls;
} kinds[] = {
	[DNS_KIND_NOERROR] = { "NOERROR", DNS_REPLY_SUCCESS },
	[DNS_KIND_NXDOMAIN] = { "NXDOMAIN", DNS_REPLY_DENIAL },
	[DNS_KIND_SERVER] = { "SERVERERROR", DNS_REPLY_ERROR },
	[DNS_KIND_NODATA] = { "NODATA", DNS_REPLY_DENIAL },
	[DNS_KIND_DELEGATION] = { "DELEGATION", DNS_REPLY_SUCCESS },
	[DNS_KIND_META] = { "META", DNS_REPLY_ERROR },
	[DNS_KIND_UPDATE] = { "UPDATE", DNS_REPLY_ERROR },
	[DNS_KIND_OTHER] = { "OTHERERROR", DNS_REPLY_ERROR },
};

/* RFC 1982 arithmetic of the two times of an RRSIG, done as miekg/dns does it. */
static bool signature_valid(const uint8_t *rdata, size_t len, int64_t now_s)
{
	const int64_t half = INT64_C(1) << 31;
	if (len < 16)
		return true;
	int64_t expiration = dns_get32(rdata + 8);
	int64_t inception = dns_get32(rdata + 12);
	inception += (inception - now_s) / half * half;
	expiration += (expiration - now_s) / half * half;
	return inception <= now_s && now_s <= expiration;
}

static void note_record(struct seen *seen, const struct dns_rrwalk *rrwalk)
{
	if (rrwalk->of == DNS_AUTHORITY) {
		seen->soa |= rrwalk->type == DNS_TYPE_SOA;
		seen->ns |= rrwalk->type == DNS_TYPE_NS;
	}
	if (seen->check_time && rrwalk->type == DNS_TYPE_RRSIG &&
	    !signature_valid(rrwalk->rdata, rrwalk->rdlen, seen->now_s))
		seen->expired = true;
}

static struct seen inspect_records(const struct dns_resp *resp)
{
	struct seen s = { .check_time = resp->has_opt && resp->opt_do };
	if (s.check_time)
		s.now_s = (int64_t)(clock_wall_ns() / NS_PER_S);
	struct dns_rrwalk w;
	dns_rrwalk_init(&w, resp);
	while (dns_rrwalk_next(&w))
		note_record(&s, &w);
	return s;
}

enum dns_kind dns_resp_kind(const struct dns_resp *resp, uint16_t qtype)
{
	unsigned opcode = resp->flags >> 11 & 15;
	if (opcode == DNS_OPCODE_UPDATE)
		return DNS_KIND_UPDATE;
	if (opcode == DNS_OPCODE_NOTIFY || qtype == DNS_TYPE_AXFR || qtype == DNS_TYPE_IXFR)
		return DNS_KIND_META;
	bool answer = resp->count[DNS_ANSWER] != 0;
	bool ok = resp->rcode == DNS_RCODE_NOERROR;
	struct seen s = { 0 };
	if ((ok && !answer) || (resp->has_opt && resp->opt_do))
		s = inspect_records(resp);
	if (s.expired || (answer && resp->rcode == DNS_RCODE_NXDOMAIN))
		return DNS_KIND_OTHER;
	if (answer && ok)
		return DNS_KIND_NOERROR;
	if (ok)
		return s.soa ? DNS_KIND_NODATA : s.ns ? DNS_KIND_DELEGATION : DNS_KIND_NOERROR;
	if (resp->rcode == DNS_RCODE_NXDOMAIN)
		return DNS_KIND_NXDOMAIN;
	if (resp->rcode == DNS_RCODE_SERVFAIL || resp->rcode == DNS_RCODE_NOTIMP)
		return DNS_KIND_SERVER;
	return DNS_KIND_OTHER;
}

enum dns_reply_class dns_kind_class(enum dns_kind kind)
{
	return kinds[kind].cls;
}

const char *dns_kind_str(enum dns_kind kind)
{
	return kinds[kind].name;
}

const char *dns_reply_class_str(enum dns_reply_class class)
{
	return class == DNS_REPLY_SUCCESS  ? "success"
	       : class == DNS_REPLY_DENIAL ? "denial"
					   : "error";
}
