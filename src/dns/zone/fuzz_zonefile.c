/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as a master file that may include itself: what is accepted makes records with valid
 * owners, and a zone that finds each of its names again. */
#include <stdint.h>
#include <stdlib.h>

#include "dns/zone/build.h"
#include "dns/zone/zone.h"
#include "dns/zone/zone_test.h"
#include "dns/zone/zonefile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RECORDS_MAX = 5000 };

struct run {
	struct slice text;
	struct dns_zone_builder *b;
	unsigned n;
};

static int record(void *ctx, const struct dns_rr *rr, struct strbuf *why)
{
	struct run *r = ctx;
	if (dns_name_len(rr->owner) != rr->owner_len)
		abort();
	(void)why;
	if (r->n++ > RECORDS_MAX)
		return -1;
	int e = dns_zone_builder_add(r->b, rr);
	return e < 0 ? e : 0;
}

static int include(void *ctx, const char *path, struct strbuf *out)
{
	const struct run *r = ctx;
	(void)path;
	strbuf_add_slice(out, r->text);
	return 0;
}

static void check(const struct dns_zone *z)
{
	for (size_t i = 0; i < dns_zone_n_nodes(z); i++) {
		const struct dns_zone_node *n = dns_zone_node(z, i);
		struct dns_zone_hit hit;
		struct dns_qname q;
		dns_qname_set(&q, dns_zone_name(z, n));
		if (dns_zone_find(z, &q, 0) != n)
			abort();
		dns_zone_lookup(z, &q, &hit);
		dns_zone_nsec_before(z, q.wire);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t origin[] = "\1a";
	struct srcerr err = { 0 };
	struct dns_zone *z = NULL;
	struct run r = { .text = { (const char *)data, size }, .b = dns_zone_builder_new(origin) };
	struct dns_zonefile f = {
		.path = "db", .origin = origin, .record = record, .include = include, .ctx = &r
	};
	if (dns_zonefile_read(&f, r.text, &err) < 0) {
		dns_zone_builder_free(r.b);
		return 0;
	}
	if (dns_zone_build(r.b, &z) == 0) {
		check(z);
		dns_zone_unref(z);
	}
	return 0;
}
