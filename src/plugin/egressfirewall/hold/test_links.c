/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The start of the connections to agents: certificates that do not exist yet do not keep a DNS server from starting. */
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
#include "base/err_text.h"
#include "plugin/egressfirewall/hold/links.h"
#include "testing/testcert.h"

static char dir[] = "/tmp/test-links-XXXXXX";

static int start(const char *cert, const char *key, const char *ca, char (*why)[512])
{
	struct egressfirewall_links *links = NULL;
	struct egressfirewall_links_conf conf = {
		.cert = cert, .key = key, .ca = ca, .port = 9353, .answer_ns = 1000
	};
	(*why)[0] = '\0';
	int r = egressfirewall_links_new(&conf, &links, ERR_TEXT(*why));
	egressfirewall_links_free(links);
	return r;
}

static void files_of_certificates(void **state UNUSED)
{
	char why[512];
	const char *cert = testcert_path(dir, "dns.pem"), *key = testcert_path(dir, "dns.key"),
		   *ca = testcert_path(dir, "ca.pem"), *none = testcert_path(dir, "none");
	assert_int_equal(start(cert, key, ca, &why), 0);
	assert_int_equal(start(none, none, none, &why), 0);
	assert_int_equal(start(cert, key, none, &why), 0);
	/* what exists and is none is an error of the configuration */
	assert_true(start(key, key, ca, &why) < 0);
	assert_non_null(strstr(why, "dns.key"));
}

static int make_files(void **state UNUSED)
{
	assert_non_null(mkdtemp(dir));
	struct testcert *certs = testcert_new(dir);
	testcert_make(certs, "dns", "dns.example");
	testcert_free(certs);
	return 0;
}

static int remove_files(void **state UNUSED)
{
	static const char *const files[] = { "dns.pem", "dns.key", "ca.pem" };
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		unlink(testcert_path(dir, files[i]));
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(files_of_certificates) };
	return cmocka_run_group_tests(tests, make_files, remove_files);
}
