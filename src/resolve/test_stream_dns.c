/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DNS over TLS: verified names, resumption, many questions on one connection, failures that say
 * why. */
#include "base/err.h"
#include "resolve/resolver.h"
#include "resolve/resolver_priv.h"
#include "resolve/test_tls_env.h"
#include "resolve/upstream.h"

static const char *const dot[] = { "dot", NULL };

static struct resolve_conf conf(struct net_tls_cred *c, const char *name)
{
	return (struct resolve_conf){ .transport = RESOLVE_TLS, .cred = c, .server_name = name };
}

static void answers(void **state)
{
	struct net_tls_cred *c = tls_client(true);
	struct tls_env *t = tls_env_new(conf(c, "dns.example"), "server", dot);
	struct ask *a = ask_start(t->e, "a.example.");
	struct ask *b = ask_start(t->e, "b.example.");
	(void)state;
	tls_turn(t);
	assert_int_equal(t->n_peer, 1);
	assert_string_equal(net_tls_alpn(t->peer[0]->tls), "dot");
	assert_int_equal(t->n_asked, 2);
	tls_answer(&t->asked[1]);
	tls_answer(&t->asked[0]);
	tls_turn(t);
	assert_int_equal(a->x.result, RESOLVE_OK);
	assert_int_equal(b->x.result, RESOLVE_OK);
	assert_int_equal(a->x.proto, RESOLVE_TCP_TLS);
	assert_non_null(strstr(a->reply.s, "a.example."));
	/* Closed by the peer, asked again on another, which resumes. */
	peer_close(t->peer[0]);
	resolve_start(t->e->r, &a->x);
	tls_turn(t);
	assert_int_equal(t->n_peer, 2);
	assert_int_equal(t->resumed, 1);
	tls_answer(&t->asked[2]);
	tls_turn(t);
	assert_int_equal(a->done, 2);
	assert_int_equal(a->x.result, RESOLVE_OK);
	ask_free(a);
	ask_free(b);
	tls_env_free(t);
	net_tls_cred_unref(c);
}

static void verifies(void **state)
{
	static const struct {
		const char *cert, *name;
		bool trusting, fine;
	} rows[] = {
		{ "server", "dns.example", true, true },
		{ "address", NULL, true, true },
		{ "address", "", true, true },
		{ "server", "other.example", true, false },
		{ "server", NULL, true, false },
		{ "address", "dns.example", true, false },
		{ "server", "dns.example", false, false },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct net_tls_cred *c = tls_client(rows[i].trusting);
		struct tls_env *t = tls_env_new(conf(c, rows[i].name), rows[i].cert, dot);
		struct ask *a = ask_start(t->e, "a.example.");
		tls_turn(t);
		if (rows[i].fine) {
			if (t->n_asked != 1)
				fail_msg("%zu: %s", i, a->done ? a->x.error_text : "no question");
			tls_answer(&t->asked[0]);
			tls_turn(t);
			assert_int_equal(a->x.result, RESOLVE_OK);
		} else {
			assert_int_equal(t->n_asked, 0);
			assert_int_equal(a->done, 1);
			assert_int_equal(a->x.result, RESOLVE_NETWORK);
			assert_int_equal(a->x.error, ERR_TLS);
			assert_true(strlen(a->x.error_text) > 10);
		}
		ask_free(a);
		tls_env_free(t);
		net_tls_cred_unref(c);
	}
}

/* A peer that says nothing, and one that does not speak TLS. */
static void no_handshake(void **state)
{
	struct net_tls_cred *c = tls_client(true);
	struct env *e = env_new(NULL);
	struct resolve_conf plain = conf(c, "dns.example");
	(void)state;
	plain.addr = *fakeup_addr(e->fake);
	struct resolve_upstream *u = resolve_upstream_new(&plain);
	struct ask *a = ask_new(e, "a.example.");
	a->x.up = u;
	resolve_start(e->r, &a->x);
	env_advance(e, NS_PER_S);
	assert_int_equal(a->done, 0);
	env_advance(e, NS_PER_S);
	assert_int_equal(a->done, 1);
	assert_int_equal(a->x.result, RESOLVE_TIMEOUT);
	/* The dial goes on; whoever asks now waits for the same one. */
	a->x.deadline_ns = env_now + 60 * NS_PER_S;
	resolve_start(e->r, &a->x);
	env_advance(e, 27 * NS_PER_S);
	assert_int_equal(a->done, 1);
	assert_int_equal(fakeup_accepted(e->fake), 1);
	env_advance(e, NS_PER_S);
	assert_int_equal(a->done, 2);
	assert_int_equal(a->x.result, RESOLVE_TIMEOUT);
	assert_int_equal(resolver_pool(e->r, u)->n_streams, 0);
	ask_free(a);
	resolve_upstream_unref(u);
	env_free(e);
	net_tls_cred_unref(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers),
		cmocka_unit_test(verifies),
		cmocka_unit_test(no_handshake),
	};
	return cmocka_run_group_tests(tests, tls_make_certs, tls_remove_certs);
}
