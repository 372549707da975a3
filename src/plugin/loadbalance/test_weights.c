/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weight files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"
#include "dns/name.h"
#include "plugin/loadbalance/weights.h"

static unsigned weight(const struct loadbalance_weights *w, const char *name, const char *ip)
{
	uint8_t wire[256];
	union net_addr a;
	assert_true(dns_name_from_text(slice_of(name), wire) > 0);
	assert_int_equal(net_addr_parse_ip(slice_of(ip), &a), 0);
	return loadbalance_weight_of(loadbalance_weights_find(w, wire), &a);
}

static void reads_weights(void **state)
{
	(void)state;
	struct loadbalance_weights *w = NULL;
	struct srcerr err;
	struct slice text = SLICE("# comment\n\n  w.Example \r\n\t192.0.2.1   3\n"
				  "192.0.2.1 9\n2001:db8::1 255\n#192.0.2.2 7\n"
				  "other.example.\n::ffff:192.0.2.3 2\nw.example.\n192.0.2.4 4");
	assert_int_equal(loadbalance_weights_parse("f", text, &w, &err), 0);
	assert_int_equal(weight(w, "w.example", "192.0.2.1"), 3);
	assert_int_equal(weight(w, "W.example", "2001:db8::1"), 255);
	assert_int_equal(weight(w, "w.example", "192.0.2.4"), 4);
	assert_int_equal(weight(w, "w.example", "192.0.2.2"), 1);
	assert_int_equal(weight(w, "other.example", "192.0.2.3"), 2);
	assert_int_equal(weight(w, "other.example", "192.0.2.1"), 1);
	assert_int_equal(weight(w, "x.w.example", "192.0.2.1"), 1);
	loadbalance_weights_free(w);
}

static void refused(struct slice text, const char *error)
{
	struct loadbalance_weights *w = NULL;
	struct srcerr err = { 0 };
	char line[1024];
	assert_int_equal(loadbalance_weights_parse("f", text, &w, &err), ERR_PARSE);
	assert_null(w);
	assert_string_equal(srcerr_str(&err, line, sizeof(line)), error);
}

static void refuses_with_the_place(void **state)
{
	(void)state;
	refused(SLICE("192.0.2.1 3\n"),
		"f:1:1: expected a domain name before the first address, got '192.0.2.1'");
	refused(SLICE("a.test\n 192.0.2.1\n"),
		"f:2:2: expected a weight behind the address, got '192.0.2.1'");
	refused(SLICE("a.test\n192.0.2.1 0\n"), "f:2:11: expected a weight from 1 to 255, got '0'");
	refused(SLICE("a.test\n192.0.2.1 256"),
		"f:2:11: expected a weight from 1 to 255, got '256'");
	refused(SLICE("a.test\n192.0.2 1"), "f:2:1: expected an IP address, got '192.0.2'");
	refused(SLICE("a.test\n192.0.2.1 1 2 3"), "f:2:13: expected the end of the line, got '2'");
	refused(SLICE("a..test"), "f:1:1: expected a domain name, got 'a..test'");
	refused((struct slice){ "", LOADBALANCE_WEIGHTS_BYTES_MAX + 1 },
		"f:1:1: longer than 16777216 bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_weights),
		cmocka_unit_test(refuses_with_the_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
