/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The max-age of a DNS response sent over HTTP (DoH): its lowest TTL, within limits. */
#include "dns/http_max_age.h"

#include "base/compiler.h"
#include "dns/resp.h"
#include "dns/resp_kind.h"

/* dns_resp_from_wire has checked the message: all records are there. */
static uint32_t lowest_ttl(const uint8_t *msg, size_t len, size_t at)
{
	uint32_t lowest = DNS_HTTP_AGE_MAX_S;
	unsigned count = (unsigned)dns_get16(msg + 6) + dns_get16(msg + 8) + dns_get16(msg + 10);
	for (; count > 0; count--) {
		int end = dns_name_skip(msg, len, at);
		if (end < 0 || (size_t)end + 10 > len)
			return DNS_HTTP_AGE_MIN_S;
		const uint8_t *p = msg + end;
		if (dns_get16(p) != DNS_TYPE_OPT)
			lowest = MIN(lowest, dns_get32(p + 4));
		at = (size_t)end + 10 + dns_get16(p + 8);
	}
	return lowest;
}

uint32_t dns_http_max_age(uint8_t *msg, size_t len)
{
	struct dns_resp r;
	if (dns_resp_from_wire(&r, NULL, msg, len) < 0 || dns_get16(msg + 4) != 1)
		return DNS_HTTP_AGE_MIN_S;
	int end = dns_name_skip(msg, len, DNS_HEADER_BYTES);
	if (end < 0 || (size_t)end + 4 > len)
		return DNS_HTTP_AGE_MIN_S;
	enum dns_kind kind = dns_resp_kind(&r, dns_get16(msg + end));
	bool keeps =
		kind == DNS_KIND_NOERROR || kind == DNS_KIND_NXDOMAIN || kind == DNS_KIND_NODATA;
	bool empty = r.count[DNS_ANSWER] + r.count[DNS_AUTHORITY] + r.count[DNS_ADDITIONAL] == 0;
	return keeps && !empty ? lowest_ttl(msg, len, (size_t)end + 4) : DNS_HTTP_AGE_MIN_S;
}
