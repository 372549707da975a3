/* SPDX-License-Identifier: GPL-3.0-or-later */
/* loadbalance: orders of replies. Chance is tested by asking often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "testing/fake_server.h"

#define RECORDS                                                                              \
	" template IN A test {\n answer \"{{ .Name }} 60 IN A 192.0.2.1\"\n"                 \
	" answer \"{{ .Name }} 60 IN MX 1 mx.test.\"\n"                                      \
	" answer \"{{ .Name }} 60 IN A 192.0.2.2\"\n answer \"{{ .Name }} 60 IN TXT x\"\n"   \
	" answer \"{{ .Name }} 60 IN CNAME c.elsewhere.\"\n"                                 \
	" answer \"{{ .Name }} 60 IN A 192.0.2.3\"\n"                                        \
	" authority \"test. 60 IN NS ns1.test.\"\n authority \"test. 60 IN NS ns2.test.\"\n" \
	" additional \"ns1.test. 60 IN A 198.51.100.1\"\n"                                   \
	" additional \"ns2.test. 60 IN AAAA 2001:db8::2\"\n }\n"                             \
	" template IN AAAA {\n rcode NXDOMAIN\n answer \"{{ .Name }} 60 IN A 192.0.2.1\"\n"  \
	" answer \"{{ .Name }} 60 IN A 192.0.2.2\"\n }\n}\n"

static char path[] = "/tmp/test_weights_XXXXXX";

static int make_file(void **state)
{
	(void)state;
	int fd = mkstemp(path);
	static const char text[] = "w.test\n192.0.2.2 200\n192.0.2.3 1\n";
	return fd < 0 || write(fd, text, sizeof(text) - 1) < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static struct fake *start(const char *stanza)
{
	char corefile[4096];
	snprintf(corefile, sizeof(corefile), ". {\n %s\n" RECORDS, stanza);
	struct fake *f = fake_new(corefile);
	if (f == NULL)
		fail_msg("%s", fake_error());
	return f;
}

/* Last octets of addresses and the first letters of other types in one section, in order. */
static const char *order(struct fake *f, const char *name, const char *type, const char *section)
{
	static char out[64];
	size_t n = 0;
	char reply[2048];
	snprintf(reply, sizeof(reply), "%s",
		 fake_ask(f, &(struct fake_ask){ .name = name, .type = type, .udp_size = 4096 }));
	for (char *line = reply; line != NULL;) {
		char owner[64], rtype[16], data[64];
		char *end = strchr(line, '\n');
		if (strncmp(line, section, strlen(section)) == 0 &&
		    sscanf(line + strlen(section), " %63s 60 IN %15s %63s", owner, rtype, data) ==
			    3)
			out[n++] = rtype[0] == 'A' ? data[strlen(data) - 1] : rtype[0];
		line = end != NULL ? end + 1 : NULL;
	}
	out[n] = '\0';
	return out;
}

static void shuffles_addresses(void **state)
{
	(void)state;
	struct fake *f = start("loadbalance");
	bool first[4] = { false }, additional[2] = { false };
	for (int i = 0; i < 200; i++) {
		const char *o = order(f, "a.test", "A", "answer");
		assert_int_equal(strlen(o), 6);
		assert_int_equal(strncmp(o, "CT", 2), 0);
		assert_int_equal(o[5], 'M');
		assert_true(o[2] >= '1' && o[2] <= '3' && o[2] != o[3] && o[3] != o[4]);
		first[o[2] - '0'] = true;
		o = order(f, "a.test", "A", "additional");
		additional[o[0] == '1'] = true;
		assert_string_equal(order(f, "a.test", "A", "authority"), "NN");
	}
	assert_true(first[1] && first[2] && first[3]);
	assert_true(additional[0] && additional[1]);
	fake_free(f);
}

static void leaves_other_replies(void **state)
{
	(void)state;
	struct fake *f = start("loadbalance round_robin");
	for (int i = 0; i < 50; i++)
		assert_string_equal(order(f, "a.test", "AAAA", "answer"), "12");
	fake_free(f);
}

static void prefers_networks(void **state)
{
	(void)state;
	struct fake *f = start("loadbalance {\n prefer 192.0.2.3/32 192.0.2.2/31\n"
			       " prefer 2001:db8::/32\n }");
	for (int i = 0; i < 50; i++) {
		assert_string_equal(order(f, "a.test", "A", "answer"), "C321MT");
		assert_string_equal(order(f, "a.test", "A", "additional"), "21");
	}
	fake_free(f);
}

static void puts_one_address_first_by_weight(void **state)
{
	(void)state;
	char stanza[128];
	unsigned first[4] = { 0 };
	snprintf(stanza, sizeof(stanza), "loadbalance weighted %s {\n reload 0s\n }", path);
	struct fake *f = start(stanza);
	for (int i = 0; i < 400; i++) {
		const char *o = order(f, "W.test", "A", "answer");
		assert_int_equal(strncmp(o, "CT", 2), 0);
		first[o[2] - '0']++;
	}
	/* 200 of 202 on average; fewer than 350 of 400 does not happen. */
	assert_true(first[2] > 350);
	memset(first, 0, sizeof(first));
	for (int i = 0; i < 400; i++)
		first[order(f, "a.test", "A", "answer")[2] - '0']++;
	assert_true(first[1] > 50 && first[2] > 50 && first[3] > 50);
	fake_free(f);
}

static void needs_a_weight_file(void **state)
{
	(void)state;
	struct fake *f = start("loadbalance weighted /nonexistent/weights");
	assert_string_equal(fake_log(f),
			    "[WARNING] plugin/loadbalance: cannot open weight file "
			    "'/nonexistent/weights': No such file or directory; will try again in "
			    "30s\n");
	assert_int_equal(strlen(order(f, "a.test", "A", "answer")), 6);
	fake_free(f);
	assert_null(fake_new(". {\n loadbalance weighted /nonexistent/w {\n reload 0s\n }\n}\n"));
	assert_string_equal(fake_error(), "Corefile:2:23: cannot open weight file "
					  "'/nonexistent/w': No such file or directory");
}

static void refused(const char *corefile, const char *error)
{
	assert_null(fake_new(corefile));
	assert_string_equal(fake_error(), error);
}

static void refuses_what_it_does_not_know(void **state)
{
	(void)state;
	refused(". {\n loadbalance fleeb\n}\n",
		"Corefile:2:14: expected round_robin or weighted, got 'fleeb'");
	refused(". {\n loadbalance round_robin a\n}\n",
		"Corefile:2:26: round_robin takes no arguments");
	refused(". {\n loadbalance weighted\n}\n",
		"Corefile:2:14: expected one weight file behind 'weighted'");
	refused(". {\n loadbalance weighted a b\n}\n",
		"Corefile:2:25: expected one weight file behind 'weighted'");
	refused(". {\n loadbalance {\n prefer 10.0.0.1\n }\n}\n",
		"Corefile:3:9: prefer: expected a network such as 10.0.0.0/8, got '10.0.0.1'");
	assert_null(fake_new(". {\n loadbalance weighted f {\n prefer 10.0.0.0/8\n }\n}\n"));
	assert_null(fake_new(". {\n loadbalance {\n reload 1s\n }\n}\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shuffles_addresses),
		cmocka_unit_test(leaves_other_replies),
		cmocka_unit_test(prefers_networks),
		cmocka_unit_test(puts_one_address_first_by_weight),
		cmocka_unit_test(needs_a_weight_file),
		cmocka_unit_test(refuses_what_it_does_not_know),
	};
	return cmocka_run_group_tests(tests, make_file, remove_file);
}
