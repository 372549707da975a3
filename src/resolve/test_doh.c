/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DNS over HTTPS: both versions of HTTP, both methods, what is no answer, and peers that end their
 * connections. */
#include "base/err.h"
#include "resolve/resolver.h"
#include "resolve/test_tls_env.h"

static const char *const h2[] = { "h2", NULL };
static const char *const h1[] = { "http/1.1", NULL };

static struct resolve_conf conf(struct net_tls_cred *c)
{
	return (struct resolve_conf){ .transport = RESOLVE_HTTPS,
				      .cred = c,
				      .server_name = "dns.example" };
}

static void copy_text(char *out, size_t cap, struct slice s)
{
	snprintf(out, cap, "%.*s", (int)s.n, s.p);
}

static void on_request(void *ctx, uint32_t stream, void *user, const struct http_message *m)
{
	struct tls_env *t = ctx;
	struct peer *p = NULL;
	(void)user;
	for (unsigned i = 0; i < t->n_peer; i++) {
		if (t->peer[i]->http != NULL)
			p = t->peer[i]; /* the newest one that is open */
	}
	peer_asked(t, p, m->body.p, m->body.n);
	struct asked *a = &t->asked[(t->n_asked - 1) % ASKED];
	a->stream = stream;
	copy_text(a->method, sizeof(a->method), m->method);
	copy_text(a->target, sizeof(a->target), m->target);
	copy_text(a->authority, sizeof(a->authority), m->authority);
	copy_text(a->type, sizeof(a->type), m->content_type);
}

static void peer_http_open(struct tls_env *t, struct peer *p)
{
	bool v2 = strcmp(net_tls_alpn(p->tls), "h2") == 0;
	p->http = http_framing_new(&(struct http_framing_conf){
		.role = HTTP_ROLE_SERVER,
		.version = v2 ? HTTP_2 : HTTP_1_1,
		.calls = { .message = on_request },
		.ctx = t,
	});
}

static void peer_flush(struct peer *p)
{
	for (;;) {
		struct slice out = http_framing_out(p->http);
		if (out.n == 0)
			return;
		ssize_t n = net_tls_send(p->tls, out.p, out.n);
		assert_true(n > 0);
		http_framing_sent(p->http, (size_t)n);
	}
}

static struct tls_env *doh_env_new(struct resolve_conf c, const char *cert, const char *const *alpn)
{
	struct tls_env *t = tls_env_new(c, cert, alpn);
	t->http_open = peer_http_open;
	t->http_flush = peer_flush;
	return t;
}

static void respond(struct tls_env *t, unsigned i, unsigned status, const char *type)
{
	struct asked *a = &t->asked[i];
	struct http_message m = { .status = status,
				  .content_type = slice_of(type),
				  .body = { (const char *)a->msg, a->n } };
	a->msg[2] |= 0x80;
	assert_int_equal(http_framing_respond(a->peer->http, a->stream, &m), 0);
	tls_turn(t);
}

static void many_on_one(void **state)
{
	struct net_tls_cred *c = tls_client(true);
	struct tls_env *t = doh_env_new(conf(c), "server", h2);
	struct ask *a = ask_start(t->e, "a.example.");
	struct ask *b = ask_start(t->e, "b.example.");
	(void)state;
	tls_turn(t);
	assert_int_equal(t->n_peer, 1);
	assert_int_equal(t->n_asked, 2);
	assert_string_equal(t->asked[0].method, "POST");
	assert_string_equal(t->asked[0].target, "/dns-query");
	assert_string_equal(t->asked[0].authority, "dns.example");
	assert_string_equal(t->asked[0].type, "application/dns-message");
	assert_int_equal(dns_get16(t->asked[0].msg), 0);
	respond(t, 1, 200, "application/dns-message");
	assert_int_equal(a->done, 0);
	assert_int_equal(b->x.result, RESOLVE_OK);
	assert_string_equal(b->reply.s, "NOERROR qr rd\nquestion b.example. IN A\n");
	respond(t, 0, 200, "Application/DNS-Message; x=y");
	assert_int_equal(a->x.result, RESOLVE_OK);
	assert_int_equal(a->x.proto, RESOLVE_DOH);
	assert_int_equal(dns_get16(a->msg), 0x1234);
	ask_free(a);
	ask_free(b);
	tls_env_free(t);
	net_tls_cred_unref(c);
}

/* By POST, and by GET, where the whole message stands in the path. */
static void longest(void **state)
{
	struct net_tls_cred *c = tls_client(true);
	(void)state;
	for (size_t i = 0; i < 2 * (size_t)LONGEST_NAMES; i++) {
		struct resolve_conf conf_of = conf(c);
		conf_of.http_get = i % 2 == 1;
		struct tls_env *t = doh_env_new(conf_of, "server", h2);
		struct ask *a = ask_new(t->e, longest_names[i / 2]);
		a->x.random_case = true;
		resolve_start(t->e->r, &a->x);
		assert_ptr_equal(a->e, t->e);
		tls_turn(t);
		assert_int_equal(t->n_asked, 1);
		if (!conf_of.http_get) {
			respond(t, 0, 200, "application/dns-message");
			assert_int_equal(a->x.result, RESOLVE_OK);
			assert_non_null(strstr(a->reply.s, longest_names[i / 2]));
		}
		ask_free(a);
		tls_env_free(t);
	}
	net_tls_cred_unref(c);
}

/* HTTP/1.1: one after the other, so each of several at once has a connection of its own. */
static void http_1_1(void **state)
{
	struct net_tls_cred *c = tls_client(true);
	struct resolve_conf rc = conf(c);
	rc.http_get = true;
	rc.http_host = "doh.example";
	rc.http_path = "/q";
	struct tls_env *t = doh_env_new(rc, "server", h1);
	struct ask *a = ask_start(t->e, "a.example.");
	(void)state;
	tls_turn(t);
	assert_int_equal(t->n_asked, 1);
	assert_string_equal(t->asked[0].method, "GET");
	/* RFC 8484 4.1.1: base64url without padding. */
	assert_string_equal(t->asked[0].target, "/q?dns=AAABAAABAAAAAAAAAWEHZXhhbXBsZQAAAQAB");
	assert_string_equal(t->asked[0].authority, "doh.example");
	assert_int_equal(t->asked[0].n, 0);
	memcpy(t->asked[0].msg, a->msg, a->x.msg_n);
	t->asked[0].n = a->x.msg_n;
	dns_put16(t->asked[0].msg, 0);
	respond(t, 0, 200, "application/dns-message");
	assert_int_equal(a->x.result, RESOLVE_OK);
	resolve_start(t->e->r, &a->x);
	tls_turn(t);
	assert_int_equal(t->n_peer, 1);
	assert_int_equal(t->n_asked, 2);
	/* Those that cannot go over it spread over others. */
	struct ask *b = ask_start(t->e, "b.example.");
	struct ask *d = ask_start(t->e, "d.example.");
	tls_turn(t);
	assert_int_equal(t->n_peer, 3);
	assert_int_equal(t->n_asked, 4);
	ask_free(b);
	ask_free(d);
	ask_free(a);
	tls_env_free(t);
	net_tls_cred_unref(c);
}

/* Several waited for one connection before it was known to be HTTP/1.1. */
static void http_1_1_sheds(void **state)
{
	struct net_tls_cred *c = tls_client(true);
	struct tls_env *t = doh_env_new(conf(c), "server", h1);
	struct ask *a[4];
	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(a); i++)
		a[i] = ask_start(t->e, "a.example.");
	tls_turn(t);
	tls_turn(t);
	assert_int_equal(t->n_peer, 4);
	assert_int_equal(t->n_asked, 4);
	for (unsigned i = 0; i < ARRAY_LEN(a); i++)
		ask_free(a[i]);
	tls_env_free(t);
	net_tls_cred_unref(c);
}

/* RFC 9112 section 6.3: without a length, a response lasts until the connection ends. */
static void http_1_1_until_the_end(void **state)
{
	static const char head[] =
		"HTTP/1.1 200 OK\r\nContent-Type: application/dns-message\r\n\r\n";
	struct net_tls_cred *c = tls_client(true);
	struct tls_env *t = doh_env_new(conf(c), "server", h1);
	struct ask *a = ask_start(t->e, "a.example.");
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		tls_turn(t);
		struct asked *q = &t->asked[i];
		assert_int_equal(t->n_asked, i + 1);
		q->msg[2] |= 0x80;
		size_t n = i == 0 ? q->n : q->n - 1; /* the second one is cut off */
		assert_int_equal(net_tls_send(q->peer->tls, head, sizeof(head) - 1),
				 sizeof(head) - 1);
		assert_int_equal(net_tls_send(q->peer->tls, q->msg, n), n);
		tls_turn(t);
		assert_int_equal(a->done, i);
		net_tls_bye(q->peer->tls);
		peer_close(q->peer);
		tls_turn(t);
		assert_int_equal(a->done, i + 1);
		assert_int_equal(a->x.result, i == 0 ? RESOLVE_OK : RESOLVE_MISMATCH);
		if (i == 0)
			resolve_start(t->e->r, &a->x);
	}
	ask_free(a);
	tls_env_free(t);
	net_tls_cred_unref(c);
}

static void no_answer(void **state)
{
	static const struct {
		unsigned status;
		const char *type;
		const char *text;
	} rows[] = {
		{ 500, "application/dns-message", "unexpected HTTP status" },
		{ 404, "text/html", "unexpected HTTP status" },
		{ 200, "text/html", "no DNS message in the HTTP response" },
	};
	struct net_tls_cred *c = tls_client(true);
	struct tls_env *t = doh_env_new(conf(c), "server", h2);
	(void)state;
	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		struct ask *a = ask_start(t->e, "a.example.");
		tls_turn(t);
		respond(t, i, rows[i].status, rows[i].type);
		assert_int_equal(a->done, 1);
		assert_int_equal(a->x.result, RESOLVE_NETWORK);
		assert_string_equal(a->x.error_text, rows[i].text);
		ask_free(a);
	}
	/* Another question. */
	struct ask *a = ask_start(t->e, "a.example.");
	tls_turn(t);
	t->asked[3].msg[13] = 'b';
	respond(t, 3, 200, "application/dns-message");
	assert_int_equal(a->x.result, RESOLVE_MISMATCH);
	assert_int_equal(t->n_peer, 1);
	ask_free(a);
	tls_env_free(t);
	net_tls_cred_unref(c);
}

static void cancelled_and_closed(void **state)
{
	struct net_tls_cred *c = tls_client(true);
	struct tls_env *t = doh_env_new(conf(c), "server", h2);
	struct ask *a = ask_start(t->e, "a.example.");
	struct ask *b = ask_start(t->e, "b.example.");
	(void)state;
	tls_turn(t);
	resolve_cancel(t->e->r, &a->x);
	respond(t, 0, 200, "application/dns-message");
	assert_int_equal(a->done, 0);
	respond(t, 1, 200, "application/dns-message");
	assert_int_equal(b->x.result, RESOLVE_OK);
	/* The peer goes while one is open: asked once more. */
	resolve_start(t->e->r, &b->x);
	tls_turn(t);
	peer_close(t->peer[0]);
	tls_turn(t);
	assert_int_equal(t->n_peer, 2);
	assert_int_equal(b->done, 1);
	respond(t, t->n_asked - 1, 200, "application/dns-message");
	assert_int_equal(b->done, 2);
	assert_int_equal(b->x.result, RESOLVE_OK);
	/* GOAWAY: what is open goes on, what is new takes another connection. */
	resolve_start(t->e->r, &a->x);
	tls_turn(t);
	http_framing_end(t->peer[1]->http);
	tls_turn(t);
	resolve_start(t->e->r, &b->x);
	tls_turn(t);
	assert_int_equal(t->n_peer, 3);
	respond(t, t->n_asked - 2, 200, "application/dns-message");
	assert_int_equal(a->done, 1);
	assert_int_equal(a->x.result, RESOLVE_OK);
	respond(t, t->n_asked - 1, 200, "application/dns-message");
	assert_int_equal(b->done, 3);
	assert_int_equal(b->x.result, RESOLVE_OK);
	ask_free(a);
	ask_free(b);
	tls_env_free(t);
	net_tls_cred_unref(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_on_one),
		cmocka_unit_test(longest),
		cmocka_unit_test(http_1_1),
		cmocka_unit_test(http_1_1_sheds),
		cmocka_unit_test(http_1_1_until_the_end),
		cmocka_unit_test(no_answer),
		cmocka_unit_test(cancelled_and_closed),
	};
	return cmocka_run_group_tests(tests, tls_make_certs, tls_remove_certs);
}
