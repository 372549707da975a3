/* searchpath: its stanza. Walks are tested on a real API (tests/kube/test_searchpath.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "server/fake.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
