/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Upstreams made of TO arguments: files, names, duplicates, limits. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "dns/name.h"
#include "plugin/forward/conf.h"
#include "plugin/forward/upstreams.h"
#include "resolve/types.h"
#include "resolve/upstream.h"
#include "testing/fake_upstream.h"

enum { WORDS_MAX = 300 };

struct made {
	struct forward_stanza st;
	struct resolve_upstream *up[FORWARD_UPSTREAMS_MAX];
	unsigned n;
	struct srcerr err;
	struct word word[WORDS_MAX];
	const struct word *words[WORDS_MAX];
};

/* `to` is cut at blanks, in place. */
static int make(struct made *m, char *to, bool dry)
{
	struct prepare p = { .dry = dry, .err = &m->err };
	char *rest = to, *w;
	m->st.to = (struct opt_list){ m->words, 0 };
	m->st.check_domain = dns_name_root;
	while ((w = strsep(&rest, " ")) != NULL) {
		assert_true(m->st.to.n < WORDS_MAX);
		m->word[m->st.to.n] = (struct word){ .s = w };
		m->words[m->st.to.n] = &m->word[m->st.to.n];
		m->st.to.n++;
	}
	return forward_upstreams_make(&m->st, &p, m->up, &m->n);
}

static void done(struct made *m)
{
	for (unsigned i = 0; i < m->n; i++)
		resolve_upstream_unref(m->up[i]);
	m->n = 0;
}

static void duplicates_are_asked_once(void **state)
{
	struct made m = { 0 };
	char to[] = "127.0.0.1 127.0.0.1:53 dns://127.0.0.1 127.0.0.1:54 ::1 [::1]:53 "
		    "tls://127.0.0.1:53 tls://127.0.0.1%a:53 tls://127.0.0.1%A:53";
	(void)state;
	assert_int_equal(make(&m, to, false), 0);
	assert_int_equal(m.n, 5);
	assert_string_equal(m.up[0]->text, "127.0.0.1:53");
	assert_string_equal(m.up[1]->text, "127.0.0.1:54");
	assert_string_equal(m.up[2]->text, "[::1]:53");
	assert_string_equal(m.up[4]->conf.server_name, "a");
	done(&m);
}

static void servers_of_a_file(void **state)
{
	struct made m = { 0 };
	char path[] = "/tmp/test_upstreams_XXXXXX", to[64];
	int fd = mkstemp(path);
	(void)state;
	static const char text[] = "search a.example\nnameserver 192.0.2.1\nnameserver nonsense\n"
				   "nameserver 2001:db8::1%no-such-interface\n";
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	snprintf(to, sizeof(to), "%s 192.0.2.1", path);
	assert_int_equal(make(&m, to, true), 0);
	assert_int_equal(m.n, 2);
	assert_string_equal(m.up[0]->text, "192.0.2.1:53");
	assert_string_equal(m.up[1]->text, "[2001:db8::1]:53");
	done(&m);
	snprintf(to, sizeof(to), "tls://%s", path);
	assert_true(make(&m, to, true) < 0);
	assert_non_null(strstr(m.err.text, "plain DNS"));
	assert_int_equal(truncate(path, 0), 0);
	snprintf(to, sizeof(to), "%s", path);
	assert_true(make(&m, to, true) < 0);
	assert_string_equal(m.err.text, "no valid upstream addresses found");
	unlink(path);
}

static void a_folder_is_no_file(void **state)
{
	struct made m = { 0 };
	char to[] = "/tmp";
	(void)state;
	assert_true(make(&m, to, true) < 0);
	assert_string_equal(m.err.text, "'/tmp' is a directory");
}

/* A file of 256 servers is one TO, and one upstream too many. */
static void limits(void **state)
{
	struct made m = { 0 };
	char path[] = "/tmp/test_upstreams_XXXXXX", to[400] = "127.0.0.1";
	int fd = mkstemp(path);
	(void)state;
	for (int i = 0; i < FORWARD_UPSTREAMS_MAX; i++)
		dprintf(fd, "nameserver 10.0.0.%d\n", i + 1);
	close(fd);
	for (size_t n = 9, i = 2; i <= FORWARD_TO_MAX + 1; i++)
		n += (size_t)snprintf(to + n, sizeof(to) - n, " 127.0.0.%zu", i);
	assert_true(make(&m, to, true) < 0);
	assert_string_equal(m.err.text, "more than 15 TOs configured: 16");
	done(&m);
	snprintf(to, sizeof(to), "%s", path);
	assert_int_equal(make(&m, to, true), 0);
	assert_int_equal(m.n, FORWARD_UPSTREAMS_MAX);
	done(&m);
	snprintf(to, sizeof(to), "%s 127.0.0.1", path);
	assert_true(make(&m, to, true) < 0);
	assert_string_equal(m.err.text, "more than 255 upstreams");
	done(&m);
	unlink(path);
}

static void checks_have_a_pause(void **state)
{
	struct made m = { 0 };
	char to[] = "127.0.0.1";
	(void)state;
	assert_int_equal(make(&m, to, false), 0);
	assert_int_equal(m.up[0]->conf.probe_interval_ns, 10 * NS_PER_MS);
	done(&m);
}

/* ---- names ---- */

struct server {
	struct fakeup *up;
	pthread_t thread;
	atomic_bool end;
};

/* Answers A questions, and AAAA ones without records. */
static void *answer(void *arg)
{
	struct server *s = arg;
	while (!s->end) {
		const char *q = fakeup_next(s->up);
		if (q == NULL)
			sched_yield();
		else
			fakeup_answer(s->up, strcmp(q, "udp dns.example. IN A") == 0
						     ? "dns.example. 60 IN A 192.0.2.7\n"
						       "dns.example. 60 IN A 192.0.2.8"
						     : "");
	}
	return NULL;
}

static void names_to_be_proved(void **state)
{
	struct made m = { 0 };
	struct server s = { .up = fakeup_new() };
	char to[] = "dns.example:5353 tls://dns.example tls://dns.example%other.example "
		    "https://192.0.2.9%doh.example tls://192.0.2.10";
	(void)state;
	m.st.resolver = fakeup_addr(s.up);
	m.st.n_resolver = 1;
	assert_int_equal(pthread_create(&s.thread, NULL, answer, &s), 0);
	int r = make(&m, to, false);
	s.end = true;
	pthread_join(s.thread, NULL);
	fakeup_free(s.up);
	assert_int_equal(r, 0);
	static const char *const want[][2] = {
		{ "192.0.2.7:5353", "" },
		{ "192.0.2.8:5353", "" },
		{ "192.0.2.7:853", "dns.example" },
		{ "192.0.2.8:853", "dns.example" },
		{ "192.0.2.7:853", "other.example" },
		{ "192.0.2.8:853", "other.example" },
		{ "192.0.2.9:443", "doh.example" },
		{ "192.0.2.10:853", "" },
	};
	assert_int_equal(m.n, ARRAY_LEN(want));
	for (unsigned i = 0; i < m.n; i++) {
		assert_string_equal(m.up[i]->text, want[i][0]);
		const char *name = m.up[i]->conf.server_name;
		assert_string_equal(name != NULL ? name : "", want[i][1]);
	}
	done(&m);
}

/* A dry run looks nothing up, but reads what can be read. */
static void dry_runs_ask_nobody(void **state)
{
	struct made m = { 0 };
	char good[] = "dns.example", bad[] = "a..b", port[] = "dns.example:x";
	(void)state;
	assert_int_equal(make(&m, good, true), 0);
	assert_int_equal(m.n, 0);
	assert_true(make(&m, bad, true) < 0);
	assert_non_null(strstr(m.err.text, "not an IP address, file, or valid domain"));
	assert_true(make(&m, port, true) < 0);
	assert_non_null(strstr(m.err.text, "port"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(duplicates_are_asked_once), cmocka_unit_test(servers_of_a_file),
		cmocka_unit_test(a_folder_is_no_file),	     cmocka_unit_test(limits),
		cmocka_unit_test(checks_have_a_pause),	     cmocka_unit_test(names_to_be_proved),
		cmocka_unit_test(dry_runs_ask_nobody),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
