/* SPDX-License-Identifier: GPL-3.0-or-later */
/* k8s_external: its stanza. What it answers is compared with CoreDNS on a real API
 * (tests/kube/test_k8s_external.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "testing/fake_server.h"

static const struct {
	const char *stanza, *error;
} rows[] = {
	{ "k8s_external", "Corefile:2:1: kubernetes plugin not loaded" },
	{ "k8s_external {\nttl 3601\n}", "Corefile:3:5: " },
	{ "k8s_external {\nttl -1\n}", "Corefile:3:5: " },
	{ "k8s_external {\nttl\n}", "Corefile:3:1: " },
	{ "k8s_external {\napex\n}", "Corefile:3:1: " },
	{ "k8s_external {\napex a..b\n}", "Corefile:2:1: apex 'a..b' is not a domain name" },
	{ "k8s_external {\napex .\n}", "Corefile:2:1: apex '.' is not a domain name" },
	{ "k8s_external {\nnope\n}", "Corefile:3:1: " },
};

static void refuses(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!fake_refuses(rows[i].stanza, rows[i].error))
			fail_msg("%s: %s", rows[i].stanza, fake_error());
	}
}

/* The longest name server that a zone can have. */
static void length_of_apex(void **state)
{
	(void)state;
	char a[64], zone[256];
	memset(a, 'a', 63);
	a[63] = '\0';
	for (int spare = 0; spare < 2; spare++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		/* hostmaster, 63, 63, 63 and the rest are 255 with the root. */
		snprintf(zone, sizeof(zone), "%s.%s.%.*s", a, a, 50 + 1 - spare, a);
		strbuf_addf(&text, ". {\nk8s_external %s {\napex %s\n}\n}\n", zone, a);
		assert_null(fake_new(text.s));
		assert_true((strstr(fake_error(), "too long for the zone") != NULL) ==
			    (spare == 0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses),
		cmocka_unit_test(length_of_apex),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
