/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Certificates we make are what verifiers want, and are read back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/err_text.h"
#include "net/certgen.h"

#define NOW_S UINT64_C(1790000000)

struct made {
	struct strbuf cert, key;
};

static void make_ca(struct made *m, const char *cn)
{
	char err[200];
	strbuf_init(&m->cert);
	strbuf_init(&m->key);
	const struct net_certgen g = {
		.cn = cn, .not_before_s = NOW_S, .not_after_s = NOW_S + 1000, .ca = true
	};
	assert_int_equal(net_certgen(&g, &m->cert, &m->key, ERR_TEXT(err)), 0);
}

static void done(struct made *m)
{
	strbuf_done(&m->cert);
	strbuf_done(&m->key);
}

static void chain(void **state)
{
	static const char *const names[] = { "hook.ns.svc", "127.0.0.1", "::1", NULL };
	struct made a, b, s = { STRBUF_INIT, STRBUF_INIT };
	struct net_certinfo info;
	char err[200];
	(void)state;
	make_ca(&a, "one");
	make_ca(&b, "one"); /* the same name, another key */
	const struct net_certgen g = { .cn = "server",
				       .not_before_s = NOW_S - 5,
				       .not_after_s = NOW_S + 100,
				       .names = names,
				       .ca_cert = a.cert.s,
				       .ca_key = a.key.s };
	assert_int_equal(net_certgen(&g, &s.cert, &s.key, ERR_TEXT(err)), 0);
	assert_true(net_cert_signed_by(strbuf_slice(&s.cert), strbuf_slice(&a.cert)));
	assert_false(net_cert_signed_by(strbuf_slice(&s.cert), strbuf_slice(&b.cert)));
	assert_false(net_cert_signed_by(strbuf_slice(&a.cert), strbuf_slice(&s.cert)));
	assert_int_equal(net_certinfo(strbuf_slice(&s.cert), &info), 0);
	assert_true(info.not_before_s == NOW_S - 5 && info.not_after_s == NOW_S + 100 && !info.ca);
	assert_true(net_cert_has_key(strbuf_slice(&s.cert), strbuf_slice(&s.key)));
	assert_true(net_cert_has_key(strbuf_slice(&a.cert), strbuf_slice(&a.key)));
	assert_false(net_cert_has_key(strbuf_slice(&a.cert), strbuf_slice(&b.key)));
	assert_false(net_cert_has_key(strbuf_slice(&a.cert), SLICE("")));
	assert_false(net_cert_has_key(SLICE("x"), strbuf_slice(&a.key)));
	assert_int_equal(net_certinfo(strbuf_slice(&a.cert), &info), 0);
	assert_true(info.ca);
	for (size_t i = 0; names[i] != NULL; i++)
		assert_true(net_cert_has_name(strbuf_slice(&s.cert), names[i]));
	assert_false(net_cert_has_name(strbuf_slice(&s.cert), "other.ns.svc"));
	assert_false(net_cert_has_name(strbuf_slice(&s.cert), "127.0.0.2"));
	done(&a);
	done(&b);
	done(&s);
}

static void what_is_none(void **state)
{
	struct made s = { STRBUF_INIT, STRBUF_INIT };
	struct net_certinfo info;
	char err[200] = "";
	(void)state;
	const struct net_certgen g = { .cn = "x", .ca_cert = "nonsense", .ca_key = "nonsense" };
	assert_int_equal(net_certgen(&g, &s.cert, &s.key, ERR_TEXT(err)), ERR_PARSE);
	assert_non_null(strstr(err, "CA cannot be read"));
	assert_int_equal(net_certinfo(SLICE("nonsense"), &info), ERR_PARSE);
	assert_int_equal(net_certs_count(SLICE("nonsense")), ERR_PARSE);
	assert_int_equal(net_certs_count(SLICE("")), ERR_PARSE);
	assert_false(net_cert_has_name(SLICE(""), "x"));
	assert_false(net_cert_signed_by(SLICE(""), SLICE("")));
	done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(chain),
					    cmocka_unit_test(what_is_none) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
