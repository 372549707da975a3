/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flags of `fairlead controller` that have a syntax of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "cmd/controllerconf.h"

static const struct controllerconf_flags usual = { .controllers = "example,dnsoperator",
						   .dns_ask = "auto" };

static void add_rate(struct strbuf *out, struct controller_writes writes)
{
	if (writes.per_s == CONTROLLER_WRITES_UNLIMITED)
		strbuf_adds(out, "none ");
	else
		strbuf_addf(out, "%u:%u ", writes.per_s, writes.burst);
}

/* The rates of both controllers, 0:0 where none was given; or the error. */
static void read_rates(const char *text, struct strbuf *out)
{
	struct controllerconf_flags flags = usual;
	struct controllerconf conf = { 0 };
	char why[512] = "";
	strbuf_reset(out);
	flags.write_rate = text;
	if (controllerconf_read(&flags, &conf, ERR_TEXT(why)) < 0)
		strbuf_addf(out, "error: %s", why);
	else
		for (size_t i = 0; i < conf.writes.n; i++)
			add_rate(out, conf.writes.v[i]);
	controllerconf_done(&conf);
}

static void write_rates(void **state)
{
#define EXPECTED                                                                                \
	"error: --write-rate: expected NAME=PER_SECOND or NAME=PER_SECOND:BURST, each at most " \
	"1000000, got "
	static const char *const rows[][2] = {
		{ NULL, "0:0 0:0 " },
		{ "example=5", "5:0 0:0 " },
		{ "dnsoperator=7:9", "0:0 7:9 " },
		{ "dnsoperator=1, example=1000000:1000000", "1000000:1000000 1:0 " },
		{ "example=0", "none 0:0 " },
		{ "example=0:3", "none 0:0 " },
		{ "example", EXPECTED "'example'" },
		{ "example=", EXPECTED "'example='" },
		{ "example=x", EXPECTED "'example=x'" },
		{ "example=-1", EXPECTED "'example=-1'" },
		{ "example=1:", EXPECTED "'example=1:'" },
		{ "example=1:2:3", EXPECTED "'example=1:2:3'" },
		{ "example=1000001", EXPECTED "'example=1000001'" },
		{ "example=1:1000001", EXPECTED "'example=1:1000001'" },
		{ "other=1", "error: --write-rate: controller 'other' is not one of those of "
			     "--controllers" },
		{ "example=1,example=2", "error: --write-rate: controller 'example' is named "
					 "twice" },
		{ "example=0,dnsoperator=1,example=0",
		  "error: --write-rate: controller 'example' is named twice" },
	};
#undef EXPECTED
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		read_rates(rows[i][0], &got);
		assert_string_equal(got.s, rows[i][1]);
	}
}

static void types_of_records(void **state)
{
	char why[300] = "";
	(void)state;
	assert_int_equal(controllerconf_check_types(NULL, ERR_TEXT(why)), 0);
	assert_int_equal(controllerconf_check_types("rfc2136, memory", ERR_TEXT(why)), 0);
	assert_int_equal(controllerconf_check_types("memory", ERR_TEXT(why)), 0);
	assert_int_equal(controllerconf_check_types("rfc2136,bogus", ERR_TEXT(why)), -1);
	assert_non_null(strstr(why, "--dnsrecord-types: 'bogus' is none of "));
	assert_non_null(strstr(why, "rfc2136"));
	assert_null(strstr(why, "memory"));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(write_rates),
					    cmocka_unit_test(types_of_records) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
