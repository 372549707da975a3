/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A zone's copy has every record once, the SOA first. */
#include "plugin/shared/zonecopy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/srcpos.h"
#include "base/strbuf.h"
#include "dns/zone/zone.h"
#include "dns/zone/zoneload.h"
#include "server/handler.h"

static const char text[] = "$ORIGIN x.test.\n"
			   "@ 60 NS ns\n"
			   "@ 60 SOA ns host 7 1 1 1 1\n"
			   "@ 60 TXT a\n"
			   "@ 60 TXT b\n"
			   "b 60 A 192.0.2.2\n"
			   "a.ent 60 A 192.0.2.3\n"
			   "a.ent 60 A 192.0.2.4\n"
			   "a.ent 60 AAAA 2001:db8::1\n"
			   "ns 60 A 192.0.2.1\n";
static const char want[] = "x.test. 6\nx.test. 2\nx.test. 16\nx.test. 16\nb.x.test. 1\n"
			   "a.ent.x.test. 1\na.ent.x.test. 1\na.ent.x.test. 28\nns.x.test. 1\n";

static void records(void **state)
{
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	static const uint8_t origin[] = "\1x\4test";
	struct dns_zone *zone = NULL;
	struct srcerr err = { 0 };
	struct dns_rr rr;
	size_t outside;
	char name[DNS_NAME_TEXT_MAX];
	(void)state;
	struct dns_zoneload l = { .path = "db", .origin = origin };
	assert_int_equal(dns_zone_load(&l, slice_of(text), &err, &zone, &outside), 0);
	struct zone_copy *z = zonecopy_new(zone);
	dns_zone_unref(zone); /* it has a reference of its own */
	while (z->next(z, &rr) == 1) {
		dns_name_to_text(rr.owner, false, name);
		strbuf_addf(&got, "%s %u\n", name, rr.type);
		assert_int_equal(rr.owner_len, dns_name_len(rr.owner));
		assert_int_equal(rr.ttl, 60);
		if (rr.type == DNS_TYPE_A)
			assert_memory_equal(rr.rdata, "\300\0\2", 3);
	}
	assert_string_equal(got.s, want);
	assert_int_equal(z->next(z, &rr), 0);
	z->free(z);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(records) };
	return cmocka_run_group_tests_name("plugin/shared/zonecopy", tests, NULL, NULL);
}
