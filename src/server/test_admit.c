/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The admission table: raw packets and what comes back before (or without) any plugin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dns/test_bytes.h"
#include "server/query.h"
#include "server/setup.h"
#include "testing/fake_server.h"

static unsigned n_served, n_announced;

static enum verdict ok_serve(struct plugin_inst *self, struct query *q)
{
	(void)self;
	n_served++;
	query_reply(q);
	return V_ANSWERED;
}

static void ok_announce(struct plugin_inst *self, struct query *q)
{
	(void)self;
	assert_non_null(q->block);
	n_announced++;
}

static int updates_parse(struct plugin_inst *self, struct setup *s)
{
	(void)self;
	s->conf->opcodes = 1 << DNS_OPCODE_UPDATE;
	return 0;
}

static const struct plugin updates_plugin = { .name = "updates", .parse = updates_parse };
static const struct plugin metrics_like = { .name = "prometheus" };
static const struct plugin ok_plugin = { .name = "ok", .serve = ok_serve, .announce = ok_announce };
const struct plugin *const plugin_list[] = { &updates_plugin, &metrics_like, &ok_plugin, NULL };

static const char *raw(struct fake *f, const char *hex)
{
	uint8_t m[4096];
	const char *text = fake_ask(f, &(struct fake_ask){ .raw = m, .raw_n = bytes_of(hex, m) });
	return text != NULL ? text : "silence";
}

#define Q      "01 'a' 00 0001 0001"
#define ASKED  "question a. IN A\n"
#define BADOPT "00 0029 04d0 00 00 0000 0001 00"
#define OPT(v) "00 0029 04d0 00 " v " 8000 0000"

static void admission_table(void **state)
{
	static const struct {
		const char *in, *out;
		unsigned served;
	} rows[] = {
		/* silence: too short, and responses whatever else they are */
		{ "00", "silence", 0 },
		{ "1234 0100 0001 0000 0000 00", "silence", 0 },
		{ "1234 8100 0001 0000 0000 0000" Q, "silence", 0 },
		{ "1234 f900 0009 0009 0000 0000", "silence", 0 },
		/* a header that promises a question and nothing else */
		{ "1234 0110 0001 0000 0000 0000", "SERVFAIL qr rd cd\n", 0 },
		/* counts */
		{ "1234 0100 0000 0000 0000 0000", "FORMERR qr rd\n", 0 },
		{ "1234 0100 0002 0000 0000 0000" Q Q, "FORMERR qr rd\n", 0 },
		{ "1234 0100 0001 0002 0000 0000" Q, "FORMERR qr rd\n", 0 },
		{ "1234 0100 0001 0000 0002 0000" Q, "FORMERR qr rd\n", 0 },
		{ "1234 0100 0001 0000 0000 0003" Q, "FORMERR qr rd\n", 0 },
		{ "1234 0100 0001 0001 0001 0002" Q, "NOERROR qr rd\n" ASKED, 1 },
		/* header bits: refused before a handler, they come back, but AA and Z */
		{ "1234 07f0 0000 0000 0000 0000", "FORMERR qr tc rd ra ad cd\n", 0 },
		{ "1234 2400 0000 0000 0000 0000", "FORMERR qr\n", 0 },
		{ "1234 07f0 0001 0000 0000 0000" Q, "NOERROR qr rd cd\n" ASKED, 1 },
		/* opcodes */
		{ "1234 0900 0001 0000 0000 0000" Q, "NOTIMP qr rd opcode=1\n", 0 },
		{ "1234 1000 0000 0000 0000 0000", "NOTIMP qr opcode=2\n", 0 },
		{ "1234 2800 0001 0000 0000 0000" Q, "NOTIMP qr opcode=5\n", 0 },
		{ "1234 2500 0001 0000 0000 0000" Q, "NOERROR qr opcode=4\n" ASKED, 1 },
		/* damage in the question, and behind it */
		{ "1234 0100 0001 0000 0000 0000 05 'a'", "FORMERR qr rd\n", 0 },
		{ "1234 0100 0001 0000 0000 0000 c00c 0001 0001", "FORMERR qr rd\n", 0 },
		{ "1234 0100 0001 0000 0000 0001" Q BADOPT, "FORMERR qr rd\n" ASKED, 0 },
		{ "1234 0100 0001 0000 0000 0001" Q "00", "FORMERR qr rd\n" ASKED, 0 },
		{ "1234 0100 0001 0000 0000 0001" Q, "NOERROR qr rd\n" ASKED, 1 },
		{ "1234 0100 0001 0000 0000 0000" Q "ffff", "NOERROR qr rd\n" ASKED, 1 },
		/* a question cut behind its name has type and class 0 */
		{ "1234 0100 0001 0000 0000 0000 01 'a' 00",
		  "REFUSED qr rd\nquestion a. CLASS0 None\n", 0 },
		/* class, then EDNS version */
		{ "1234 0100 0001 0000 0000 0000 01 'a' 00 0001 0003",
		  "REFUSED qr rd\nquestion a. CH A\n", 0 },
		{ "1234 0100 0001 0000 0000 0001 01 'a' 00 0001 0003" OPT("01"),
		  "REFUSED qr rd\nquestion a. CH A\nopt 1232 do\n", 0 },
		{ "1234 0100 0001 0000 0000 0001" Q OPT("01"), "BADSIG qr rd\n" ASKED "opt 0\n",
		  0 },
		{ "1234 0100 0001 0000 0000 0001" Q OPT("ff"), "BADSIG qr rd\n" ASKED "opt 0\n",
		  0 },
		{ "1234 0100 0001 0000 0000 0001" Q OPT("00"),
		  "NOERROR qr rd\n" ASKED "opt 1232 do\n", 1 },
	};
	(void)state;
	struct fake *f = fake_new(". {\n ok\n}\n");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		n_served = n_announced = 0;
		const char *got = raw(f, rows[i].in);
		if (strcmp(got, rows[i].out) != 0)
			print_error("row %zu: %s\n", i, rows[i].in);
		assert_string_equal(got, rows[i].out);
		assert_int_equal(n_served, rows[i].served);
		assert_int_equal(n_announced, rows[i].served);
		assert_int_equal(fake_inflight(f), 0);
		if (strcmp(got, "silence") != 0) {
			size_t n;
			assert_int_equal(dns_get16(fake_wire(f, &n)), 0x1234);
		}
	}
	fake_free(f);
}

static void updates_pass_the_header_stage(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n updates\n ok\n}\n");
	assert_string_equal(raw(f, "1234 2800 0001 0009 0009 0009" Q),
			    "NOERROR qr opcode=5\n" ASKED);
	assert_string_equal(raw(f, "1234 2800 0002 0000 0000 0000" Q Q), "FORMERR qr\n");
	assert_string_equal(raw(f, "1234 3000 0001 0000 0000 0000" Q), "NOTIMP qr opcode=6\n");
	assert_string_equal(raw(f, "1234 0000 0001 0009 0000 0000" Q), "FORMERR qr\n");
	fake_free(f);
}

/* Longer than we receive: FORMERR with the question; a response of that length: silence. */
static void long_datagrams(void **state)
{
	uint8_t m[2000] = { 0x12, 0x34, 1, 0, 0, 1, [12] = 1, 'a', 0, 0, 1, 0, 1 };
	(void)state;
	struct fake *f = fake_new(". {\n ok\n}\n");
	struct fake_ask a = { .raw = m, .raw_n = 1232 };
	assert_string_equal(fake_ask(f, &a), "NOERROR qr rd\n" ASKED);
	a.raw_n = 1233;
	assert_string_equal(fake_ask(f, &a), "FORMERR qr rd\n" ASKED);
	m[2] = 0x81;
	assert_null(fake_ask(f, &a));
	fake_free(f);
}

/* What is refused before any chain is counted for the zone `dropped`; BADVERS is not. */
static void dropped_are_counted(void **state)
{
	(void)state;
	struct fake *f = fake_new("a.test {\n prometheus\n ok\n}\n");
	static const char refused[] = "coredns_dns_responses_total{plugin=\"\",rcode=\"REFUSED\","
				      "server=\"dns://:53\",view=\"\",zone=\"dropped\"}";
	static const char failed[] = "coredns_dns_responses_total{plugin=\"\",rcode=\"SERVFAIL\","
				     "server=\"dns://:53\",view=\"\",zone=\"dropped\"}";
	raw(f, "1234 0100 0001 0000 0000 0000" Q);
	raw(f, "1234 0100 0001 0000 0000 0000" Q);
	raw(f, "1234 0100 0001 0000 0000 0001" Q OPT("01"));
	raw(f, "1234 0100 0001 0000 0000 0000");
	assert_int_equal((int)fake_metric(f, refused), 2);
	assert_int_equal((int)fake_metric(f, failed), 1);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(admission_table),
		cmocka_unit_test(updates_pass_the_header_stage),
		cmocka_unit_test(long_datagrams),
		cmocka_unit_test(dropped_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
