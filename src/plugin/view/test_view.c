/* SPDX-License-Identifier: GPL-3.0-or-later */
/* view: which of several blocks of a zone takes a query. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "testing/fake_server.h"

#define BLOCK(zone, view, rcode) zone " {\n" view "\ntemplate ANY ANY {\nrcode " rcode "\n}\n}\n"

static void first_view_that_is_true_takes(void **state)
{
	(void)state;
	struct fake *f = fake_new(
		BLOCK("example", "view a {\nexpr client_ip() == '192.0.2.7'\n}", "NXDOMAIN")
			BLOCK("example", "view b {\nexpr type() == 'MX'\nexpr do()\n}", "REFUSED")
				BLOCK(".", "view c {\nexpr name() matches '^x[.]'\n}", "NOTAUTH")
					BLOCK(".", "", "YXDOMAIN"));
	if (f == NULL)
		fail_msg("%s", fake_error());
	static const struct {
		const char *name, *type, *client;
		bool dnssec_ok;
		const char *rcode;
	} rows[] = {
		{ "a.example", "A", "192.0.2.7:1", false, "NXDOMAIN" },
		{ "a.example", "MX", "192.0.2.7:1", true, "NXDOMAIN" },
		{ "a.example", "MX", "192.0.2.8:1", true, "REFUSED" },
		{ "a.example", "MX", "192.0.2.8:1", false, "YXDOMAIN" },
		{ "x.example", "A", "192.0.2.8:1", false, "NOTAUTH" },
		{ "x.test", "A", "192.0.2.7:1", false, "NOTAUTH" },
		{ "y.test", "A", "192.0.2.7:1", false, "YXDOMAIN" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *reply =
			fake_ask(f, &(struct fake_ask){ .name = rows[i].name,
							.type = rows[i].type,
							.client = rows[i].client,
							.udp_size = 1232,
							.dnssec_ok = rows[i].dnssec_ok });
		if (reply == NULL || strncmp(reply, rows[i].rcode, strlen(rows[i].rcode)) != 0)
			fail_msg("row %zu: %s", i, reply);
	}
	fake_free(f);
}

/* Neither a failing expression nor one that is no boolean takes; no expression does. */
static void what_is_not_true_is_false(void **state)
{
	(void)state;
	struct fake *f = fake_new(
		BLOCK(".", "view a {\nexpr incidr('x', '10.0.0.0/8')\n}", "NXDOMAIN")
			BLOCK(".", "view b {\nexpr 1\n}", "REFUSED") BLOCK(".", "view c", "NOTAUTH")
				BLOCK(".", "", "YXDOMAIN"));
	assert_non_null(f);
	const char *reply = fake_ask(f, &(struct fake_ask){ .name = "a." });
	assert_int_equal(strncmp(reply, "NOTAUTH", 7), 0);
	fake_free(f);
}

/* A name cannot choose its view by making the pattern of another one take too long. */
static void costly_patterns_are_not_passed_over(void **state)
{
	(void)state;
	struct fake *f = fake_new(
		BLOCK(".", "view a {\nexpr name() matches '^(a+)+(b.|c)$|^(a*)d.$'\n}", "NXDOMAIN")
			BLOCK(".", "view b {\nexpr !(name() matches '^(a+)+(b.|c)$')\n}", "REFUSED")
				BLOCK(".", "", "YXDOMAIN"));
	assert_non_null(f);
	static const struct {
		const char *name, *rcode;
	} rows[] = {
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaad.", "NXDOMAIN" },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab.", "NXDOMAIN" },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaae.", "REFUSED" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *reply = fake_ask(f, &(struct fake_ask){ .name = rows[i].name });
		if (reply == NULL || strncmp(reply, rows[i].rcode, strlen(rows[i].rcode)) != 0)
			fail_msg("row %zu: %s", i, reply);
	}
	fake_free(f);
}

/* An expression that cannot be finished decides nothing about the query: no other view gets it. */
static void what_cannot_be_evaluated_fails(void **state)
{
	(void)state;
	struct fake *f =
		fake_new(BLOCK(".", "view a {\nexpr all(1..2000,none(1..2000,name()=='b'))\n}",
			       "NXDOMAIN") BLOCK(".", "", "YXDOMAIN"));
	if (f == NULL)
		fail_msg("%s", fake_error());
	const char *reply = fake_ask(f, &(struct fake_ask){ .name = "a." });
	assert_non_null(reply);
	assert_int_equal(strncmp(reply, "SERVFAIL", 8), 0);
	assert_non_null(strstr(fake_log(f), "plugin/view: view 'a'"));
	fake_free(f);
}

/* Hundreds of views that do not take leave the query's memory as it was. */
static void many_views_need_no_memory(void **state)
{
	(void)state;
	static char text[100000];
	size_t n = 0;
	for (int i = 0; i < 500; i++) {
		static const char block[] =
			". {\nview v {\nexpr name() == client_ip() + name()\n}\nwhoami\n}\n";
		memcpy(text + n, block, sizeof(block));
		n += sizeof(block) - 1;
	}
	memcpy(text + n, BLOCK(".", "", "NXDOMAIN"), sizeof(BLOCK(".", "", "NXDOMAIN")));
	struct fake *f = fake_new(text);
	assert_non_null(f);
	const char *reply = fake_ask(f, &(struct fake_ask){ .name = "a." });
	assert_int_equal(strncmp(reply, "NXDOMAIN", 8), 0);
	fake_free(f);
}

static void refuses(void **state)
{
	(void)state;
	static const struct {
		const char *text, *error;
	} rows[] = {
		{ ". {\nview\n}\n", "Corefile:2:1: view: expected a name" },
		{ ". {\nview a b\n}\n", NULL },
		{ ". {\nview a\nview b\n}\n", NULL },
		{ ". {\nview a {\nfoo\n}\n}\n", NULL },
		{ ". {\nview a {\nexpr\n}\n}\n", NULL },
		{ ". {\nview a {\nexpr group('x') == ''\n}\n}\n",
		  "Corefile:3:6: could not compile expression: unknown name group (1:1)" },
		{ ". {\nview a {\nexpr true\nexpr b c\n}\n}\n", NULL },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_null(fake_new(rows[i].text));
		assert_true(strncmp(fake_error(), "Corefile:", 9) == 0);
		if (rows[i].error != NULL)
			assert_string_equal(fake_error(), rows[i].error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_view_that_is_true_takes),
		cmocka_unit_test(what_is_not_true_is_false),
		cmocka_unit_test(costly_patterns_are_not_passed_over),
		cmocka_unit_test(what_cannot_be_evaluated_fails),
		cmocka_unit_test(many_views_need_no_memory),
		cmocka_unit_test(refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
