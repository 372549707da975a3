/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What may be kept how long: CoreDNS 1.15 pkg/dnsutil's rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "dns/http_max_age.h"
#include "dns/request.h"
#include "dns/test_names.h"
#include "dns/types.h"

struct row {
	uint16_t rcode;
	unsigned n[3];	  /* records per section */
	uint16_t type[3]; /* of each section's */
	uint32_t ttl[4];  /* of all, in order */
	bool opt;
	uint32_t age_s;
};

static const struct row rows[] = {
	{ 0, { 1 }, { DNS_TYPE_A }, { 30 }, false, 30 },
	{ 0, { 2 }, { DNS_TYPE_A }, { 300, 20 }, true, 20 },
	{ 0, { 1 }, { DNS_TYPE_A }, { 0 }, false, 0 },
	{ 0, { 1 }, { DNS_TYPE_A }, { 90000 }, false, 3600 },
	{ 0, { 1, 0, 1 }, { DNS_TYPE_A, 0, DNS_TYPE_A }, { 100, 7 }, true, 7 },
	{ 0, { 0, 1 }, { 0, DNS_TYPE_SOA }, { 60 }, false, 60 },
	{ 0, { 0, 1 }, { 0, DNS_TYPE_NS }, { 60 }, false, 5 }, /* a delegation */
	{ 3, { 0, 1 }, { 0, DNS_TYPE_SOA }, { 60 }, true, 60 },
	{ 0, { 0 }, { 0 }, { 0 }, false, 5 },
	{ 0, { 0 }, { 0 }, { 0 }, true, 5 }, /* its OPT is no record */
	{ 0, { 0, 0, 1 }, { 0, 0, DNS_TYPE_A }, { 0 }, true, 0 },
	{ 2, { 0, 1 }, { 0, DNS_TYPE_SOA }, { 60 }, false, 5 },
	{ 5, { 0 }, { 0 }, { 0 }, false, 5 },
};

static size_t put_record(uint8_t *p, uint16_t type, uint32_t ttl)
{
	memset(p, 0, 13);
	dns_put16(p + 1, type);
	dns_put16(p + 3, 1);
	dns_put32(p + 5, ttl);
	return 11;
}

static size_t build(const struct row *r, uint8_t *msg)
{
	size_t n = 12, at = 0;
	memset(msg, 0, 12);
	dns_put16(msg + 2, (uint16_t)(DNS_FLAG_QR | r->rcode));
	dns_put16(msg + 4, 1);
	memset(msg + n, 0, 1);
	dns_put16(msg + n + 1, DNS_TYPE_A);
	dns_put16(msg + n + 3, 1);
	n += 5;
	for (unsigned s = 0; s < 3; s++) {
		unsigned opt = s == 2 && r->opt;
		dns_put16(msg + 6 + 2 * s, (uint16_t)(r->n[s] + opt));
		for (unsigned i = 0; i < r->n[s]; i++)
			n += put_record(msg + n, r->type[s], r->ttl[at++]);
		if (opt)
			n += put_record(msg + n, DNS_TYPE_OPT, 0);
	}
	return n;
}

static void ages(void **state)
{
	uint8_t msg[512];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = build(&rows[i], msg);
		assert_int_equal(dns_http_max_age(msg, n), rows[i].age_s);
		for (size_t cut = 0; cut < n; cut++)
			assert_true(dns_http_max_age(msg, cut) <= DNS_HTTP_AGE_MAX_S);
	}
	build(&rows[0], msg);
	assert_int_equal(dns_http_max_age(msg, 20), DNS_HTTP_AGE_MIN_S);
}

/* A question and an owner as long as names can be; cut anywhere it is the age of nothing. */
static void ages_behind_the_longest_names(void **state)
{
	uint8_t msg[1024];
	(void)state;
	for (size_t i = 0; i < LONGEST_NAMES; i++) {
		size_t octets = longest_name_octets(i), n = 12;
		memset(msg, 0, sizeof(msg));
		dns_put16(msg + 2, DNS_FLAG_QR);
		dns_put16(msg + 4, 1);
		dns_put16(msg + 6, 1);
		assert_int_equal(dns_name_from_text(slice_of(longest_names[i]), msg + n), octets);
		memcpy(msg + n + octets, "\0\1\0\1", 4);
		n += octets + 4;
		memcpy(msg + n, msg + 12, octets);
		n += octets - 1; /* its root is the first byte of what follows */
		n += put_record(msg + n, DNS_TYPE_A, 77);
		assert_int_equal(dns_http_max_age(msg, n), 77);
		for (size_t cut = 12; cut < n; cut++)
			assert_int_equal(dns_http_max_age(msg, cut), DNS_HTTP_AGE_MIN_S);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ages),
		cmocka_unit_test(ages_behind_the_longest_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
