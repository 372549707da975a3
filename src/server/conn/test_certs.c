/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Certificates that follow their files: a new one, a broken one, one that comes in two parts; and
 * which of them may share a listener. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/clock_test.h"
#include "base/err_text.h"
#include "base/log.h"
#include "server/conn/certs.h"
#include "server/handler.h"
#include "net/task.h"
#include "net/task_test.h"
#include "testing/testcert.h"

const struct plugin *const plugin_list[] = { NULL };

static char dir[] = "/tmp/test-certs-XXXXXX";
static char err[512];
static _Atomic uint64_t now_ns = 1000 * NS_PER_S;
static int log_fd;

static uint64_t fake_now(void)
{
	return now_ns;
}

static const struct clock_source fake_clock = { fake_now, fake_now };

static const char *path(const char *name)
{
	return testcert_path(dir, name);
}

static int set_up(void **state)
{
	(void)state;
	clock_set_source(&fake_clock);
	log_fd = memfd_create("log", MFD_CLOEXEC);
	log_set_fd(log_fd);
	assert_non_null(mkdtemp(dir));
	struct testcert *t = testcert_new(dir);
	testcert_make(t, "a", "a.example");
	testcert_make(t, "b", "b.example");
	testcert_make(t, "live", "live.example");
	testcert_free(t);
	return 0;
}

static int tear_down(void **state)
{
	static const char *const files[] = { "a.pem",	 "a.key",    "b.pem", "b.key",
					     "live.pem", "live.key", "ca.pem" };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		unlink(path(files[i]));
	return rmdir(dir);
}

static struct certs *open_certs(const char *name, const char *ca, enum net_tls_auth auth)
{
	char cert[32], key[32];
	struct certs *c = NULL;
	snprintf(cert, sizeof(cert), "%s.pem", name);
	snprintf(key, sizeof(key), "%s.key", name);
	struct net_tls_files f = { .cert = path(cert),
				   .key = path(key),
				   .ca = ca != NULL ? path(ca) : NULL,
				   .auth = auth };
	assert_int_equal(certs_open(&f, false, &c, ERR_TEXT(err)), 0);
	return c;
}

static void copy(const char *from, const char *to)
{
	char cmd[512];
	snprintf(cmd, sizeof(cmd), "cp %s %s.new && mv %s.new %s", path(from), path(to), path(to),
		 path(to));
	assert_int_equal(system(cmd), 0); // NOLINT: paths of our own
}

static void look_again(void)
{
	now_ns += 6 * NS_PER_S;
	task_sync();
}

static struct net_tls_cred *in_force(struct certs *c)
{
	struct net_tls_cred *cred = certs_cred(c);
	net_tls_cred_unref(cred); /* only to be compared */
	return cred;
}

/* Lines of the log since the last call. */
static unsigned logged(const char *needle)
{
	char text[8192] = "";
	unsigned n = 0;
	lseek(log_fd, 0, SEEK_SET);
	assert_true(read(log_fd, text, sizeof(text) - 1) >= 0);
	assert_int_equal(ftruncate(log_fd, 0), 0);
	lseek(log_fd, 0, SEEK_SET);
	for (const char *p = text; (p = strstr(p, needle)) != NULL; p++)
		n++;
	return n;
}

static void follows_its_files(void **state)
{
	(void)state;
	struct certs *c = open_certs("live", NULL, NET_TLS_NOCERT);
	struct net_tls_cred *first = certs_cred(c); /* keeps it, so that it cannot come again */
	look_again();
	assert_ptr_equal(in_force(c), first);
	assert_int_equal(logged("read again"), 0);
	copy("a.pem", "live.pem"); /* the key follows later */
	look_again();
	look_again();
	assert_ptr_equal(in_force(c), first);
	assert_int_equal(logged("its key does not belong to it; the certificate read before stays"),
			 1);
	copy("a.key", "live.key");
	look_again();
	assert_ptr_not_equal(in_force(c), first);
	assert_int_equal(logged("was read again"), 1);
	struct net_tls_cred *second = certs_cred(c);
	assert_int_equal(truncate(path("live.pem"), 10), 0);
	look_again();
	assert_int_equal(unlink(path("live.pem")), 0);
	look_again();
	look_again();
	assert_ptr_equal(in_force(c), second);
	assert_int_equal(logged("stays in use"), 2); /* two different failures */
	copy("a.pem", "live.pem");
	look_again();
	assert_int_equal(logged("was read again"), 1);
	net_tls_cred_unref(first);
	net_tls_cred_unref(second);
	certs_close(c);
	certs_close(NULL);
}

static void same_files_are_shared(void **state)
{
	(void)state;
	struct certs *x = open_certs("a", NULL, NET_TLS_NOCERT);
	struct certs *y = open_certs("a", NULL, NET_TLS_NOCERT);
	struct certs *z = open_certs("a", NULL, NET_TLS_REQUEST);
	assert_ptr_equal(x, y);
	assert_ptr_not_equal(x, z);
	certs_close(x);
	assert_non_null(in_force(y));
	certs_close(y);
	certs_close(z);
}

static void who_may_share_a_listener(void **state)
{
	(void)state;
	struct certs *a = open_certs("a", NULL, NET_TLS_NOCERT);
	copy("a.pem", "live.pem");
	copy("a.key", "live.key");
	struct certs *other_path = open_certs("live", NULL, NET_TLS_NOCERT);
	struct certs *b = open_certs("b", NULL, NET_TLS_NOCERT);
	struct certs *ca = open_certs("a", "ca.pem", NET_TLS_NOCERT);
	struct certs *auth = open_certs("a", NULL, NET_TLS_REQUIRE);
	assert_null(certs_conflict(NULL, NULL));
	assert_null(certs_conflict(a, a));
	assert_null(certs_conflict(a, other_path));
	assert_string_equal(certs_conflict(a, NULL), "TLS is configured for only one server block");
	assert_string_equal(certs_conflict(a, b), "server certificates differ");
	assert_string_equal(certs_conflict(a, ca), "client CA pools differ");
	assert_string_equal(certs_conflict(a, auth), "client authentication policies differ");
	certs_close(a);
	certs_close(other_path);
	certs_close(b);
	certs_close(ca);
	certs_close(auth);
}

static void bad_files(void **state)
{
	(void)state;
	struct certs *c = NULL;
	struct net_tls_files f = { .cert = path("a.pem"), .key = path("b.key") };
	for (int dry = 0; dry < 2; dry++) {
		assert_true(certs_open(&f, dry != 0, &c, ERR_TEXT(err)) < 0);
		assert_non_null(strstr(err, "a.pem': its key does not belong to it"));
	}
	f.key = path("none");
	assert_true(certs_open(&f, false, &c, ERR_TEXT(err)) < 0);
	assert_non_null(strstr(err, "none': No such file or directory"));
	f.key = path("a.key");
	assert_int_equal(certs_open(&f, true, &c, ERR_TEXT(err)), 0);
	certs_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(follows_its_files),
		cmocka_unit_test(same_files_are_shared),
		cmocka_unit_test(who_may_share_a_listener),
		cmocka_unit_test(bad_files),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
