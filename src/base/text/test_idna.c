/* SPDX-License-Identifier: GPL-3.0-or-later */
/* International names in ASCII. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "base/text/idna.h"

static const struct {
	const char *name, *ascii;
} rows[] = {
	{ "b\xc3\xbc"
	  "cher.example",
	  "xn--bcher-kva.example" },
	{ "B\xc3\x9c"
	  "CHER.example",
	  "xn--bcher-kva.example" },
	{ "\xe4\xbe\x8b\xe3\x81\x88.test", "xn--r8jz45g.test" },
	{ "example.org", "example.org" },
	{ "\xff.example", NULL },
	{ "", NULL },
};

static void each_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(freep) char *ascii = idna_to_ascii(slice_of(rows[i].name));
		if ((ascii == NULL) != (rows[i].ascii == NULL) ||
		    (ascii != NULL && strcmp(ascii, rows[i].ascii) != 0))
			fail_msg("%s: %s", rows[i].name, ascii != NULL ? ascii : "none");
	}
}

static void as_long_as_allowed(void **state)
{
	(void)state;
	char name[IDNA_INPUT_MAX + 1];
	memset(name, 'a', sizeof(name));
	assert_null(idna_to_ascii((struct slice){ name, sizeof(name) }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_name),
		cmocka_unit_test(as_long_as_allowed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
