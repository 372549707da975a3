/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tls: what is read, what is refused, and blocks that share a listener. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "server/conn/certs.h"
#include "server/generation.h"
#include "server/server_state.h"
#include "testing/fake_server.h"
#include "testing/testcert.h"

static char dir[] = "/tmp/test-tls-plugin-XXXXXX";

static int make_certs(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	struct testcert *t = testcert_new(dir);
	testcert_make(t, "a", "a.example");
	testcert_make(t, "b", "b.example");
	testcert_free(t);
	return 0;
}

static int remove_certs(void **state)
{
	static const char *const names[] = { "a.pem", "a.key", "b.pem", "b.key", "ca.pem", "log" };
	char path[128];
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	return rmdir(dir);
}

/* A Corefile in which @ stands for the folder. */
static const char *corefile(const char *text)
{
	static char out[2048];
	size_t n = 0;
	for (; *text != '\0' && n < sizeof(out) - sizeof(dir); text++) {
		if (*text == '@')
			n += (size_t)snprintf(out + n, sizeof(out) - n, "%s", dir);
		else
			out[n++] = *text;
	}
	out[n] = '\0';
	return out;
}

static void accepts(const char *text)
{
	struct fake *f = fake_new(corefile(text));
	if (f == NULL)
		fail_msg("%s", fake_error());
	const struct generation *g = fake_server(f)->gen;
	for (size_t i = 0; i < g->n_route; i++)
		assert_int_equal(g->route[i]->certs != NULL,
				 strncmp(g->route[i]->label, "dns", 3) != 0);
	fake_free(f);
}

static void refuses(const char *text, const char *why)
{
	assert_null(fake_new(corefile(text)));
	assert_string_equal(fake_error(), why);
}

static void what_is_read(void **state)
{
	(void)state;
	accepts("tls://. {\n tls @/a.pem @/a.key\n}\n");
	accepts("tls://. {\n tls @/a.pem @/a.key @/ca.pem\n}\n");
	accepts("tls://. {\n root @\n tls a.pem a.key ca.pem\n}\n");
	accepts("https://. tls://. . {\n tls @/a.pem @/a.key {\n  client_auth nocert\n }\n}\n");
	accepts("tls://. {\n tls @/a.pem @/a.key {\n  client_auth request\n  client_auth require\n "
		"}\n}\n");
	accepts("tls://. {\n tls @/a.pem @/a.key @/ca.pem {\n  client_auth verify_if_given\n "
		"}\n}\n");
	accepts("tls://. {\n tls @/a.pem @/a.key @/ca.pem {\n  client_auth require_and_verify\n  "
		"keylog @/log\n }\n}\n");
	accepts("tls://. {\n tls @/a.pem @/b.key\n tls @/a.pem @/a.key\n}\n"); /* the last counts */
	accepts(". {\n tls @/a.pem @/a.key\n}\n");
}

static void what_is_refused(void **state)
{
	(void)state;
	refuses("tls://. {\n tls\n}\n",
		"Corefile:2:2: tls: certificates by ACME are not supported; name the files of a "
		"certificate and its key, as in 'tls CERT KEY'");
	refuses("tls://. {\n tls {\n  acme dns.example.org\n }\n}\n",
		"Corefile:2:2: tls: certificates by ACME are not supported; name the files of a "
		"certificate and its key, as in 'tls CERT KEY'");
	refuses("tls://. {\n tls a.pem\n}\n",
		"Corefile:2:2: tls: expected the files of a certificate and its key");
	refuses("tls://. {\n tls a b c d\n}\n", "Corefile:2:12: tls: unexpected argument 'd'");
	refuses("tls://. {\n tls /no /such\n}\n",
		"Corefile:2:2: tls: cannot read certificate '/no': No such file or directory");
	refuses("tls://. {\n tls a b {\n  client_auth any\n }\n}\n",
		"Corefile:3:15: client_auth: expected nocert, request, require, verify_if_given or "
		"require_and_verify, got 'any'");
	refuses("tls://. {\n tls a b {\n  client_auth\n }\n}\n",
		"Corefile:3:3: client_auth: expected an argument");
	refuses("tls://. {\n tls a b {\n  other\n }\n}\n",
		"Corefile:3:3: unknown option 'other', expected one of: client_auth, keylog");
}

static void shared_listeners(void **state)
{
	(void)state;
	accepts("tls://a. {\n tls @/a.pem @/a.key\n}\ntls://b. {\n tls @/a.pem @/a.key\n}\n");
	accepts("tls://a. {\n tls @/a.pem @/a.key\n}\ntls://b.:8853 {\n tls @/b.pem @/b.key\n}\n");
	accepts("tls://a. {\n tls @/a.pem @/a.key\n}\nhttps://b. {\n tls @/b.pem @/b.key\n}\n");
	refuses("tls://a. {\n tls @/a.pem @/a.key\n}\ntls://b. {\n tls @/b.pem @/b.key\n}\n",
		"Corefile:4:1: conflicting TLS configuration for shared listener tls://:853 "
		"between zones \"a.\" and \"b.\": server certificates differ");
	refuses("https://a. {\n tls @/a.pem @/a.key\n}\nhttps://b. {\n whoami\n}\n",
		"Corefile:4:1: conflicting TLS configuration for shared listener https://:443 "
		"between zones \"a.\" and \"b.\": TLS is configured for only one server block");
}

/* The object outlives a reload that names the same files, and with it the tickets of clients. */
static void reload_keeps_them(void **state)
{
	(void)state;
	const char *text = corefile("tls://. {\n tls @/a.pem @/a.key\n}\n");
	struct fake *f = fake_new(text);
	assert_non_null(f);
	struct certs *before = fake_server(f)->gen->route[0]->certs;
	assert_true(fake_reload(f, text));
	assert_ptr_equal(fake_server(f)->gen->route[0]->certs, before);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_read),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(shared_listeners),
		cmocka_unit_test(reload_keeps_them),
	};
	return cmocka_run_group_tests(tests, make_certs, remove_certs);
}
