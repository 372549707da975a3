/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DNS cookies to upstreams: what goes up, what is learnt, what is not believed (RFC 7873 section
 * 5.3, RFC 9018). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dns/request.h"
#include "dns/types.h"
#include "testing/fake_server.h"
#include "testing/fake_upstream.h"

enum { COOKIE = 10, CLIENT = 8, BADCOOKIE = 23 };

struct env {
	struct fakeup *up;
	struct fake *f;
};

static int start(void **state)
{
	struct env *e = calloc(1, sizeof(*e));
	char text[200];
	e->up = fakeup_new();
	snprintf(text, sizeof(text), ". {\n errors\n forward . 127.0.0.1:%u {\n cookies\n}\n}\n",
		 fakeup_port(e->up));
	e->f = fake_new(text);
	*state = e;
	return e->f == NULL;
}

static int stop(void **state)
{
	struct env *e = *state;
	fake_free(e->f);
	fakeup_free(e->up);
	free(e);
	return 0;
}

static void settle(struct env *e)
{
	for (int i = 0; i < 4; i++)
		fake_advance(e->f, 0);
}

static const char *reply(struct env *e)
{
	settle(e);
	const char *text = fake_next(e->f);
	return text != NULL ? text : "(none)";
}

/* The cookie of the question taken last, and its OPT's size. */
static size_t cookie_asked(const struct env *e, uint8_t out[64], uint16_t *ret_size)
{
	size_t n, pos = 0;
	uint8_t msg[600];
	struct dns_request r;
	struct dns_option o;
	const uint8_t *q = fakeup_query(e->up, &n);
	assert_true(n + DNS_REQUEST_SLACK <= sizeof(msg));
	memcpy(msg, q, n);
	assert_int_equal(dns_request_parse(msg, n, 0, &r), DNS_ADMIT_OK);
	*ret_size = r.opt.udp_size;
	while (dns_option_next(&r.opt, &pos, &o)) {
		if (o.code == COOKIE) {
			memcpy(out, o.data, o.len);
			return o.len;
		}
	}
	return 0;
}

/* The question back with an OPT that has this cookie (n 0: none). */
static void answer(struct env *e, uint16_t rcode, const uint8_t *cookie, size_t cookie_n)
{
	uint8_t m[600];
	size_t n;
	const uint8_t *q = fakeup_query(e->up, &n);
	n = DNS_HEADER_BYTES + dns_name_len(q + DNS_HEADER_BYTES) + 4;
	memcpy(m, q, n);
	dns_put16(m + 2, (uint16_t)(DNS_FLAG_QR | DNS_FLAG_RD | (rcode & 15)));
	memset(m + 6, 0, 6);
	m[11] = 1;
	uint8_t *p = m + n;
	memset(p, 0, DNS_OPT_BYTES);
	p[2] = DNS_TYPE_OPT;
	dns_put16(p + 3, 1232);
	p[5] = (uint8_t)(rcode >> 4);
	n += DNS_OPT_BYTES;
	if (cookie_n != 0) {
		dns_put16(p + 9, (uint16_t)(4 + cookie_n));
		dns_put16(m + n, COOKIE);
		dns_put16(m + n + 2, (uint16_t)cookie_n);
		memcpy(m + n + 4, cookie, cookie_n);
		n += 4 + cookie_n;
	}
	fakeup_bytes(e->up, m, n);
}

static void ask(struct env *e)
{
	fake_send(e->f, &(struct fake_ask){ .name = "a.example" });
	settle(e);
	assert_string_equal(fakeup_next(e->up), "udp a.example. IN A");
}

/* The first exchange: our half goes up, both halves come back and go up from then on. */
static void learn(struct env *e, uint8_t cookie[64])
{
	uint16_t size;
	ask(e);
	assert_int_equal(cookie_asked(e, cookie, &size), CLIENT);
	memcpy(cookie + CLIENT, "servercookie!!!!", 16);
	answer(e, 0, cookie, CLIENT + 16);
	assert_string_equal(reply(e), "NOERROR qr rd\nquestion a.example. IN A\n");
}

static void cookies_are_learnt(void **state)
{
	struct env *e = *state;
	uint8_t cookie[64], again[64];
	uint16_t size;
	learn(e, cookie);
	ask(e);
	assert_int_equal(cookie_asked(e, again, &size), CLIENT + 16);
	assert_memory_equal(again, cookie, CLIENT + 16);
	assert_int_equal(size, 1232); /* the client sent no OPT, and gets none */
	answer(e, 0, cookie, CLIENT + 16);
	assert_string_equal(reply(e), "NOERROR qr rd\nquestion a.example. IN A\n");
}

/* A client's cookie is not the upstream's business, nor the other way round. */
static void cookies_of_clients_stay(void **state)
{
	struct env *e = *state;
	static const uint8_t options[] = { 0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0, 3, 0, 0 };
	uint8_t cookie[64];
	uint16_t size;
	fake_send(e->f, &(struct fake_ask){ .name = "a.example",
					    .udp_size = 700,
					    .options = options,
					    .options_n = sizeof(options) });
	assert_non_null(fakeup_next(e->up));
	assert_int_equal(cookie_asked(e, cookie, &size), CLIENT);
	assert_int_equal(size, 700);
	assert_memory_not_equal(cookie, options + 4, CLIENT);
	size_t n;
	const uint8_t *q = fakeup_query(e->up, &n);
	assert_non_null(memmem(q, n, "\0\3\0\0", 4)); /* other options pass */
	answer(e, 0, cookie, CLIENT);
	assert_string_equal(reply(e), "NOERROR qr rd\nquestion a.example. IN A\nopt 700\n");
}

static void forged_cookies_are_not_believed(void **state)
{
	struct env *e = *state;
	static const struct {
		const char *bytes;
		size_t n;
	} rows[] = { { "12345678", 8 }, { "1234", 4 }, { "12345678abcdefgh", 16 } };
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		ask(e);
		for (int k = 0; k < 2; k++) { /* two attempts */
			answer(e, 0, (const uint8_t *)rows[i].bytes, rows[i].n);
			settle(e);
			const char *q;
			while ((q = fakeup_next(e->up)) != NULL && strstr(q, "NS") != NULL)
				fakeup_answer(e->up, "");
		}
		assert_int_equal(strncmp(reply(e), "SERVFAIL", 8), 0);
	}
	assert_non_null(strstr(fake_log(e->f), "malformed reply"));
}

/* One that gave cookies and gives none now may be somebody else: asked again over TCP. */
static void missing_cookies_need_tcp(void **state)
{
	struct env *e = *state;
	uint8_t cookie[64];
	learn(e, cookie);
	ask(e);
	fakeup_answer(e->up, "a.example. 60 IN A 192.0.2.66");
	settle(e);
	assert_string_equal(fakeup_next(e->up), "tcp a.example. IN A");
	fakeup_answer(e->up, "a.example. 60 IN A 192.0.2.1");
	assert_non_null(strstr(reply(e), "192.0.2.1"));
}

static void bad_cookie_is_asked_again(void **state)
{
	struct env *e = *state;
	uint8_t cookie[64], again[64];
	uint16_t size;
	learn(e, cookie);
	ask(e);
	memcpy(cookie + CLIENT, "another.", 8);
	answer(e, BADCOOKIE, cookie, CLIENT + 8);
	settle(e);
	assert_string_equal(fakeup_next(e->up), "udp a.example. IN A");
	assert_int_equal(cookie_asked(e, again, &size), CLIENT + 8);
	assert_memory_equal(again, cookie, CLIENT + 8);
	answer(e, BADCOOKIE, cookie, CLIENT + 8); /* and again: now over TCP */
	settle(e);
	assert_string_equal(fakeup_next(e->up), "tcp a.example. IN A");
	answer(e, 0, cookie, CLIENT + 8);
	assert_string_equal(reply(e), "NOERROR qr rd\nquestion a.example. IN A\n");
}

/* Servers that know nothing of it are none the worse. */
static void no_cookies_at_all(void **state)
{
	struct env *e = *state;
	for (int i = 0; i < 2; i++) {
		ask(e);
		fakeup_answer(e->up, "a.example. 60 IN A 192.0.2.1");
		assert_non_null(strstr(reply(e), "answer a.example. 60 IN A 192.0.2.1\n"));
	}
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(cookies_are_learnt),
		T(cookies_of_clients_stay),
		T(forged_cookies_are_not_believed),
		T(missing_cookies_need_tcp),
		T(bad_cookie_is_asked_again),
		T(no_cookies_at_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
