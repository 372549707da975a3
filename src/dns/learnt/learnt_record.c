/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes and reads the TXT records of the zone of learnt addresses. */
#include "dns/learnt/learnt_record.h"

#include <arpa/inet.h>
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"

enum { STRING_MAX = 255, STRINGS = 8, NUMBER_TEXT = 24, CLIENT_DIGITS = 16 };

#define VERSION "1"

const uint8_t dns_learnt_zone[26] = "\6learnt\10fairlead\10internal";

static size_t put_string(uint8_t *out, size_t at, const char *text, size_t len)
{
	assert(len <= STRING_MAX && at + 1 + len <= DNS_LEARNT_RDATA_MAX);
	out[at] = (uint8_t)len;
	if (len != 0)
		memcpy(out + at + 1, text, len);
	return at + 1 + len;
}

static size_t put_text(uint8_t *out, size_t at, struct slice text)
{
	assert(text.n <= DNS_LEARNT_TEXT_MAX);
	return put_string(out, at, text.p, text.n);
}

static size_t put_number(uint8_t *out, size_t at, uint64_t number)
{
	char text[NUMBER_TEXT];
	int n = snprintf(text, sizeof(text), "%" PRIu64, number);
	return put_string(out, at, text, (size_t)n);
}

size_t dns_learnt_rdata(const struct dns_learnt *learnt, uint8_t out[DNS_LEARNT_RDATA_MAX])
{
	char ip[INET6_ADDRSTRLEN];
	assert(learnt->ip_n == 4 || learnt->ip_n == 16);
	inet_ntop(learnt->ip_n == 4 ? AF_INET : AF_INET6, learnt->ip, ip, sizeof(ip));
	size_t n = put_string(out, 0, VERSION, strlen(VERSION));
	n = put_text(out, n, learnt->object);
	n = put_text(out, n, learnt->name);
	n = put_string(out, n, ip, strlen(ip));
	n = put_number(out, n, learnt->ttl_s);
	n = put_number(out, n, learnt->expires_s);
	n = put_number(out, n, learnt->first_s);
	n = put_text(out, n, learnt->target);
	char client[CLIENT_DIGITS + 1];
	snprintf(client, sizeof(client), "%016" PRIx64, learnt->client);
	return put_string(out, n, client, CLIENT_DIGITS);
}

size_t dns_learnt_owner(struct slice object, struct slice name, uint8_t out[DNS_NAME_MAX])
{
	/* Not a secret: every server should write the same owner. */
	static const struct hash_key key = { 0x6c6561726e74, 0x666169726c656164 };
	uint8_t both[2 * DNS_LEARNT_TEXT_MAX + 1];
	char digits[17];
	assert(object.n <= DNS_LEARNT_TEXT_MAX && name.n <= DNS_LEARNT_TEXT_MAX);
	memcpy(both, object.p, object.n);
	both[object.n] = '/';
	memcpy(both + object.n + 1, name.p, name.n);
	snprintf(digits, sizeof(digits), "%016" PRIx64,
		 hash_bytes(&key, both, object.n + 1 + name.n));
	out[0] = 16;
	memcpy(out + 1, digits, 16);
	memcpy(out + 17, dns_learnt_zone, sizeof(dns_learnt_zone));
	return 17 + sizeof(dns_learnt_zone);
}

/* ---- reading ---- */

/* The number behind the last string of split_strings(); 0: there is none. */
static uint64_t read_client(const uint8_t *rdata, size_t len)
{
	uint64_t value = 0;
	if (len < CLIENT_DIGITS + 1 || rdata[0] != CLIENT_DIGITS)
		return 0;
	for (int i = 1; i <= CLIENT_DIGITS; i++) {
		char ch = (char)rdata[i];
		bool is_digit = ch >= '0' && ch <= '9';
		if (!is_digit && (ch < 'a' || ch > 'f'))
			return 0;
		value = value << 4 | (uint64_t)(is_digit ? ch - '0' : ch - 'a' + 10);
	}
	return value;
}

/* Length of them. */
static int split_strings(const uint8_t *rdata, size_t len, struct slice out[STRINGS])
{
	size_t at = 0;
	for (int i = 0; i < STRINGS; i++) {
		if (at >= len || at + 1 + rdata[at] > len)
			return ERR_PARSE;
		out[i] = (struct slice){ (const char *)rdata + at + 1, rdata[at] };
		at += 1U + rdata[at];
	}
	return (int)at;
}

static int read_number(struct slice text, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;
	if (text.n == 0 || text.n > 19)
		return ERR_PARSE;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] < '0' || text.p[i] > '9')
			return ERR_PARSE;
		value = value * 10 + (uint64_t)(text.p[i] - '0');
	}
	if (value > max)
		return ERR_PARSE;
	*ret = value;
	return 0;
}

static int read_address(struct slice text, struct dns_learnt *learnt)
{
	char ip[INET6_ADDRSTRLEN];
	if (text.n >= sizeof(ip) || memchr(text.p, '\0', text.n) != NULL)
		return ERR_PARSE;
	memcpy(ip, text.p, text.n);
	ip[text.n] = '\0';
	learnt->ip_n = memchr(text.p, ':', text.n) != NULL ? 16 : 4;
	return inet_pton(learnt->ip_n == 4 ? AF_INET : AF_INET6, ip, learnt->ip) == 1 ? 0
										      : ERR_PARSE;
}

int dns_learnt_parse(const uint8_t *rdata, size_t len, struct dns_learnt *ret)
{
	struct slice text[STRINGS];
	struct dns_learnt learnt = { .ip_n = 0 };
	uint64_t ttl;
	int n = split_strings(rdata, len, text);
	if (n < 0)
		return n;
	if (!slice_eq(text[0], SLICE(VERSION)))
		return ERR_UNSUPPORTED;
	learnt.object = text[1];
	learnt.name = text[2];
	learnt.target = text[7];
	if (learnt.object.n == 0 || learnt.object.n > DNS_LEARNT_TEXT_MAX || learnt.name.n == 0 ||
	    learnt.name.n > DNS_LEARNT_TEXT_MAX || learnt.target.n > DNS_LEARNT_TEXT_MAX ||
	    read_address(text[3], &learnt) < 0 || read_number(text[4], UINT32_MAX, &ttl) < 0 ||
	    read_number(text[5], INT64_MAX, &learnt.expires_s) < 0 ||
	    read_number(text[6], INT64_MAX, &learnt.first_s) < 0)
		return ERR_PARSE;
	learnt.ttl_s = (uint32_t)ttl;
	learnt.client = read_client(rdata + n, len - (size_t)n);
	*ret = learnt;
	return 0;
}
