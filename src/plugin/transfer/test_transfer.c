/* SPDX-License-Identifier: GPL-3.0-or-later */
/* transfer in its chain, as far as it goes without TCP, and its stanzas. Transfers themselves are
 * in tests/differential/test_transfer.py and tests/functional/test_zones.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "dns/test_names.h"
#include "plugin/shared/zonecopy.h"
#include "testing/fake_server.h"

static const struct {
	const char *body, *error;
} stanzas[] = {
	{ "{\n to *\n }", NULL },
	{ "a.test b.test {\n to 192.0.2.1 192.0.2.2:5300 [2001:db8::1]:53\n to 2001:db8::2\n }",
	  NULL },
	{ "{\n to 192.0.2.1: [::1]:\n source ::1\n }", NULL },
	{ "", "Corefile:2:2: 'to' is required" },
	{ "{\n source 192.0.2.1\n }", "Corefile:2:2: 'to' is required" },
	{ "{\n to\n }", "expected an IP address, or *" },
	{ "{\n to 192.0.2.1 ns.test\n }", "must specify an IP address, got 'ns.test'" },
	{ "{\n to localhost:53\n }", "must specify an IP address, got 'localhost:53'" },
	{ "{\n to :53\n }", "must specify an IP address, got ':53'" },
	{ "{\n to :\n }", "must specify an IP address, got ':'" },
	{ "{\n to []:\n }", "must specify an IP address, got '[]:'" },
	{ "{\n to 192.0.2.1:x\n }", "must specify an IP address, got '192.0.2.1:x'" },
	{ "{\n to *\n source 192.0.2.1:53\n }", "invalid source address '192.0.2.1:53'" },
	{ "{\n to *\n source fe80::1%lo\n }", "invalid source address 'fe80::1%lo'" },
};

static void reads_stanzas(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stanzas); i++) {
		char text[512];
		snprintf(text, sizeof(text), ". {\n transfer %s\n whoami\n}\n", stanzas[i].body);
		struct fake *f = fake_new(text);
		if (stanzas[i].error == NULL && f == NULL)
			fail_msg("%s: %s", text, fake_error());
		if (stanzas[i].error != NULL &&
		    (f != NULL || strstr(fake_error(), stanzas[i].error) == NULL))
			fail_msg("%s: %s", text, f != NULL ? "is taken" : fake_error());
		fake_free(f);
	}
}

/* RFC 5936 §4.2, and CoreDNS for IXFR; other types pass. */
static void over_udp(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n transfer a.test {\n to *\n }\n whoami\n}\n");
	static const struct {
		const char *name, *type, *rcode;
	} rows[] = {
		{ "a.test.", "AXFR", "REFUSED" },
		{ "a.test.", "IXFR", "REFUSED" },
		{ "b.test.", "AXFR", "REFUSED" },
		{ "a.test.", "A", "NOERROR" },
	};
	assert_non_null(f);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *reply = fake_ask(
			f, &(struct fake_ask){ .name = rows[i].name, .type = rows[i].type });
		assert_non_null(reply);
		assert_memory_equal(reply, rows[i].rcode, strlen(rows[i].rcode));
	}
	fake_free(f);
}

/* Questions as long as they can be, at and below a zone that is as long. */
static void longest_names_over_udp(void **state)
{
	static const char *const types[] = { "AXFR", "IXFR", "A" };
	(void)state;
	for (size_t i = 0; i < LONGEST_NAMES; i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		strbuf_addf(&text, ". {\n transfer %s w.x.y.z {\n to *\n }\n whoami\n}\n",
			    longest_names[i]);
		struct fake *f = fake_new(text.s);
		assert_non_null(f);
		for (size_t k = 0; k < LONGEST_NAMES * ARRAY_LEN(types); k++) {
			const char *type = types[k / LONGEST_NAMES];
			const char *want =
				type[0] == 'A' && type[1] == '\0' ? "NOERROR" : "REFUSED";
			const char *reply = fake_ask(
				f, &(struct fake_ask){ .name = longest_names[k % LONGEST_NAMES],
						       .type = type,
						       .udp_size = 1232 });
			assert_non_null(reply);
			assert_memory_equal(reply, want, strlen(want));
		}
		fake_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(reads_stanzas),
					    cmocka_unit_test(over_udp),
					    cmocka_unit_test(longest_names_over_udp) };
	return cmocka_run_group_tests_name("plugin/transfer/transfer", tests, NULL, NULL);
}
