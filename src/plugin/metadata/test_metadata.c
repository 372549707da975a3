/* SPDX-License-Identifier: GPL-3.0-or-later */
/* metadata: labels are there for its zones, before views are asked, and for its own block only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "testing/fake_server.h"

#define SHOW "template IN TXT {\nanswer \"x. TXT \\\"[{{ .Meta `view/name` }}]\\\"\"\n}\n"

static const char *value(struct fake *f, const char *name)
{
	const char *reply = fake_ask(f, &(struct fake_ask){ .name = name, .type = "TXT" });
	const char *at = reply != NULL ? strchr(reply, '[') : NULL;
	return at != NULL ? at : "none";
}

static void collects_for_its_zones(void **state)
{
	(void)state;
	struct fake *f = fake_new(
		". {\nmetadata example\nview v1 {\nexpr metadata('view/name') == 'v1'\n}\n" SHOW
		"}\n"
		". {\nview v2 {\nexpr name() == 'off.'\n}\n" SHOW "}\n"
		". {\nmetadata\nview v3 {\nexpr true\n}\n" SHOW "}\n");
	if (f == NULL)
		fail_msg("%s", fake_error());
	assert_string_equal(value(f, "a.example."), "[v1]\"\n");
	assert_string_equal(value(f, "off."), "[]\"\n");
	assert_string_equal(value(f, "b."), "[v3]\"\n");
	fake_free(f);
}

static void refuses(void **state)
{
	(void)state;
	static const char *const texts[] = {
		". {\nmetadata\nmetadata\n}\n",
		". {\nmetadata {\nx\n}\n}\n",
		". {\nmetadata a..b\n}\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		assert_null(fake_new(texts[i]));
		assert_true(strncmp(fake_error(), "Corefile:", 9) == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(collects_for_its_zones),
		cmocka_unit_test(refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
