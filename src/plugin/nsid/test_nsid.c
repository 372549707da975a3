/* SPDX-License-Identifier: GPL-3.0-or-later */
/* nsid: the identifier is returned to clients that ask for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "testing/fake_server.h"

static const uint8_t nsid_option[] = { 0, 3, 0, 0 };
static const uint8_t cookie_option[] = { 0, 10, 0, 2, 1, 2 };

static const char *opt_line(struct fake *f, const uint8_t *options, size_t n, uint16_t size)
{
	const char *got = fake_ask(
		f, &(struct fake_ask){ .udp_size = size, .options = options, .options_n = n });
	assert_non_null(got);
	const char *opt = strstr(got, "opt ");
	return opt != NULL ? opt : "";
}

static void tells_those_who_ask(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n nsid Use The Force\n whoami\n}\n");
	assert_non_null(f);
	assert_string_equal(opt_line(f, nsid_option, sizeof(nsid_option), 1232),
			    "opt 1232 do 3:5573652054686520466f726365\n");
	assert_string_equal(opt_line(f, NULL, 0, 1232), "opt 1232\n");
	assert_string_equal(opt_line(f, cookie_option, sizeof(cookie_option), 1232), "opt 1232\n");
	assert_string_equal(opt_line(f, NULL, 0, 0), "");
	fake_free(f);
}

static void default_is_the_host_name(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf want = STRBUF_INIT;
	char host[256];
	assert_int_equal(gethostname(host, sizeof(host)), 0);
	strbuf_adds(&want, "opt 512 do 3:");
	for (size_t i = 0; host[i] != '\0'; i++)
		strbuf_addf(&want, "%02x", (unsigned char)host[i]);
	strbuf_addc(&want, '\n');
	struct fake *f = fake_new(". {\n nsid\n whoami\n}\n");
	assert_non_null(f);
	assert_string_equal(opt_line(f, nsid_option, sizeof(nsid_option), 512), want.s);
	fake_free(f);
}

static void joins_the_options_of_a_reply(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n nsid x\n acl {\n  block\n }\n}\n");
	assert_non_null(f);
	assert_string_equal(opt_line(f, nsid_option, sizeof(nsid_option), 1232),
			    "opt 1232 do 15:000f 3:78\n");
	fake_free(f);
}

/* A failure is written by the server, above this plugin. */
static void says_nothing_with_failures(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n nsid x\n}\n");
	assert_non_null(f);
	assert_string_equal(opt_line(f, nsid_option, sizeof(nsid_option), 1232), "opt 1232\n");
	fake_free(f);
}

static void refuses_repeats_and_long_texts(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf t = STRBUF_INIT;
	assert_null(fake_new(". {\n nsid\n nsid\n}\n"));
	assert_string_equal(fake_error(), "Corefile:3:2: 'nsid' may be used only once in a server "
					  "block, first at line 2");
	strbuf_adds(&t, ". {\n nsid a ");
	for (int i = 0; i < 511; i++)
		strbuf_addc(&t, 'x');
	strbuf_adds(&t, "\n}\n");
	assert_null(fake_new(t.s));
	assert_string_equal(fake_error(), "Corefile:2:7: nsid: more than 512 bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_those_who_ask),
		cmocka_unit_test(default_is_the_host_name),
		cmocka_unit_test(joins_the_options_of_a_reply),
		cmocka_unit_test(says_nothing_with_failures),
		cmocka_unit_test(refuses_repeats_and_long_texts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
