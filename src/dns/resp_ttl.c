/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The TTLs of a response as a whole, in either form: caches give all records the same one. */
#include "dns/resp.h"

/* Calls fn for the TTL field of each record of a checked message, OPT left out. */
static void each_ttl(const struct dns_resp *resp, void (*fn)(uint8_t *field, uint32_t *value),
		     uint32_t *value)
{
	int at = DNS_HEADER_BYTES;
	for (unsigned n = dns_get16(resp->msg + 4); n > 0; n--) {
		at = dns_name_skip(resp->msg, resp->msg_len, (size_t)at);
		if (at < 0)
			return;
		at += 4;
	}
	unsigned left = (unsigned)dns_get16(resp->msg + 6) + dns_get16(resp->msg + 8) +
			dns_get16(resp->msg + 10);
	for (; left > 0; left--) {
		at = dns_name_skip(resp->msg, resp->msg_len, (size_t)at);
		if (at < 0 || (size_t)at + 10 > resp->msg_len)
			return;
		if (dns_get16(resp->msg + at) != DNS_TYPE_OPT)
			fn(resp->msg + at + 4, value);
		at += 10 + dns_get16(resp->msg + at + 8);
	}
}

static void lower_to_ttl(uint8_t *field, uint32_t *value)
{
	*value = MIN(*value, dns_get32(field));
}

static void put_ttl(uint8_t *field, uint32_t *value)
{
	dns_put32(field, *value);
}

uint32_t dns_resp_min_ttl(const struct dns_resp *resp, uint32_t max)
{
	if (resp->msg != NULL) {
		each_ttl(resp, lower_to_ttl, &max);
		return max;
	}
	for (int s = 0; s < DNS_SECTIONS; s++) {
		DNS_RR_FOREACH(rr, resp, s)
		max = MIN(max, rr->ttl);
	}
	return max;
}

void dns_resp_set_ttl(struct dns_resp *resp, uint32_t ttl)
{
	if (resp->msg != NULL) {
		each_ttl(resp, put_ttl, &ttl);
		return;
	}
	for (int s = 0; s < DNS_SECTIONS; s++) {
		DNS_RR_FOREACH(rr, resp, s)
		rr->ttl = ttl;
	}
}
