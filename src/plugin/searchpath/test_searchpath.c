/* SPDX-License-Identifier: GPL-3.0-or-later */
/* searchpath: its stanza. Walks are tested beside kubernetes, whose lists they follow
 * (test_search_walks.c), and on a real API (tests/kube/test_searchpath.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "dns/test_names.h"
#include "testing/fake_server.h"

static const struct {
	const char *stanza, *error;
} rows[] = {
	{ "searchpath",
	  "Corefile:2:1: searchpath needs the lists of kubernetes in this server block" },
	{ "searchpath {\nlabel a.b\n}", "Corefile:2:1: 'a.b' is not one label of a name" },
	{ "searchpath {\nlabel .\n}", "Corefile:2:1: '.' is not one label of a name" },
	{ "searchpath {\nttl 3601\n}", "Corefile:3:5: " },
	{ "searchpath {\nnope\n}", "Corefile:3:1: " },
	{ "searchpath\nsearchpath", "Corefile:3:1: " },
};

static void refuses(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!fake_refuses(rows[i].stanza, rows[i].error))
			fail_msg("%s: %s", rows[i].stanza, fake_error());
	}
}

/* Denials name hostmaster.ZONE: it fits, or there is no such zone. */
static void refuses_zones_too_long_for_an_soa(void **state)
{
	(void)state;
	for (size_t octets = 240; octets <= 255; octets++) {
		CLEANUP(strbuf_done) struct strbuf stanza = STRBUF_INIT;
		char zone[256];
		strbuf_addf(&stanza, "searchpath %s", long_name_below("z.", octets, 1, zone));
		bool fits = octets + strlen("hostmaster.") <= 255;
		if (!fake_refuses(stanza.s, fits ? rows[0].error : "Corefile:2:1: zone '"))
			fail_msg("%zu octets: %s", octets, fake_error());
		assert_int_equal(strstr(fake_error(), "too long") == NULL, fits);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses),
		cmocka_unit_test(refuses_zones_too_long_for_an_soa),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
