/* SPDX-License-Identifier: GPL-3.0-or-later */
/* EF-1, EF-2, EF-S2, EF-S3: names in rules, their canonical form, their objects, what wildcards cover. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/egress/name.h"
#include "api/meta.h"
#include "base/compiler.h"

#define L63 "a23456789012345678901234567890123456789012345678901234567890123"
#define N253                    \
	L63 "." L63 "." L63 "." \
	    "a2345678901234567890123456789012345678901234567890123456789.b"
#define N244                    \
	L63 "." L63 "." L63 "." \
	    "a23456789012345678901234567890123456789012345678901b"

static const struct {
	const char *text, *object; /* NULL: refused */
	bool is_wildcard;
} names[] = {
	{ "www.example.com", "www.example.com", false },
	{ "WWW.Example.COM.", "www.example.com", false },
	{ "*.Example.com", "wildcard.example.com", true },
	{ "*.example.com.", "wildcard.example.com", true },
	{ "wildcard.example.com", "wildcard.example.com", false },
	{ "*.com", "wildcard.com", true },
	{ "localhost", "localhost", false },
	{ "xn--bcher-kva.example", "xn--bcher-kva.example", false },
	{ "3com.com", "3com.com", false },
	{ "1.2.3.4.example", "1.2.3.4.example", false },
	{ L63 ".x", L63 ".x", false },
	{ N253, N253, false },
	{ N253 ".", N253, false },
	{ "*." N244, "wildcard." N244, true },
	/* refused */
	{ "", NULL, false },
	{ ".", NULL, false },
	{ "*", NULL, false },
	{ "*.", NULL, false },
	{ "*..", NULL, false },
	{ "**.example.com", NULL, false },
	{ "*.*.example.com", NULL, false },
	{ "a.*.example.com", NULL, false },
	{ "*a.example.com", NULL, false },
	{ "a*.example.com", NULL, false },
	{ "example.*", NULL, false },
	{ "a..b", NULL, false },
	{ ".a", NULL, false },
	{ "a..", NULL, false },
	{ "-a.example", NULL, false },
	{ "a-.example", NULL, false },
	{ "a.-", NULL, false },
	{ "a_b.example", NULL, false },
	{ "a b.example", NULL, false },
	{ "b\303\274cher.example", NULL, false },
	{ "192.0.2.1", NULL, false },
	{ "10", NULL, false },
	{ L63 "4.x", NULL, false },
	{ "a" N253, NULL, false },
	{ "*.a" N244, NULL, false },
	{ "*." N253, NULL, false },
};

static void name_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct egress_name name;
		char object[EGRESS_NAME_MAX + 1];
		const char *wrong = egress_name_parse(slice_of(names[i].text), &name);
		if ((wrong == NULL) != (names[i].object != NULL))
			fail_msg("'%s': %s", names[i].text, wrong != NULL ? wrong : "accepted");
		if (wrong != NULL)
			continue;
		assert_int_equal(name.is_wildcard, names[i].is_wildcard);
		egress_name_object(name.text, name.is_wildcard, object);
		assert_string_equal(object, names[i].object);
		assert_true(api_is_subdomain_name(object));
	}
}

/* Below a wildcard clients ask for names that no rule could have. */
static void hosts_of_clients(void **state)
{
	static const char *const refused[] = { "*.example.com", "a..example", "a b.example", "",
					       "192.0.2.1",	"-a.example" };
	struct egress_name name;
	(void)state;
	assert_null(egress_name_parse_host(SLICE("_a_.B_c.Example.com."), &name));
	assert_string_equal(name.text, "_a_.b_c.example.com");
	assert_false(name.is_wildcard);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		assert_non_null(egress_name_parse_host(slice_of(refused[i]), &name));
}

static void text_with_nul(void **state)
{
	struct egress_name name;
	(void)state;
	assert_non_null(egress_name_parse(SLICE("a\0b.example"), &name));
}

static const struct {
	const char *host, *parent;
	bool one, any;
} covers[] = {
	{ "a.example.com", "example.com", true, true },
	{ "a.b.example.com", "example.com", false, true },
	{ "example.com", "example.com", false, false },
	{ ".example.com", "example.com", false, false },
	{ "badexample.com", "example.com", false, false },
	{ "a.badexample.com", "example.com", false, false },
	{ "com", "example.com", false, false },
	{ "example.com", "com", true, true },
	{ "a.example.net", "example.com", false, false },
};

static void cover_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(covers); i++) {
		if (egress_name_is_covered(covers[i].host, covers[i].parent, false) !=
			    covers[i].one ||
		    egress_name_is_covered(covers[i].host, covers[i].parent, true) != covers[i].any)
			fail_msg("%s below %s", covers[i].host, covers[i].parent);
	}
	assert_string_equal(egress_name_below_wildcard("wildcard.example.com"), "example.com");
	assert_null(egress_name_below_wildcard("wildcard"));
	assert_null(egress_name_below_wildcard("wildcard."));
	assert_null(egress_name_below_wildcard("wildcards.example.com"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(name_table),
		cmocka_unit_test(hosts_of_clients),
		cmocka_unit_test(text_with_nul),
		cmocka_unit_test(cover_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
