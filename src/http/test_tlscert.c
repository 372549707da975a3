/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HTTPS: the certificate is exchanged while connections go on. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "http/server.h"
#include "http/tlscert.h"
#include "net/addr.h"
#include "net/tls.h"
#include "testing/testcert.h"

struct pair {
	char dir[64];
	struct strbuf cert, key;
};

static void read_pem(const char *dir, const char *name, struct strbuf *out)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", dir, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_true(readfile_fd(fd, 100000, out) >= 0);
	close(fd);
	unlink(path);
}

/* A CA of its own (its file stays) and a certificate for 127.0.0.1. */
static void pair_init(struct pair *p)
{
	snprintf(p->dir, sizeof(p->dir), "/tmp/test_tlscert.XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	struct testcert *t = testcert_new(p->dir);
	testcert_make(t, "server", "127.0.0.1");
	testcert_free(t);
	strbuf_init(&p->cert);
	strbuf_init(&p->key);
	read_pem(p->dir, "server.pem", &p->cert);
	read_pem(p->dir, "server.key", &p->key);
}

static void pair_done(struct pair *p)
{
	CLEANUP(freep) char *ca = xasprintf("%s/ca.pem", p->dir);
	unlink(ca);
	rmdir(p->dir);
	strbuf_done(&p->cert);
	strbuf_done(&p->key);
}

static void say_ok(void *ctx, const struct http_request *req, struct http_reply *reply)
{
	(void)ctx;
	strbuf_addf(&reply->body, "OK %s", req->path);
}

static const struct http_route routes[] = { { .path = NULL, .handle = say_ok } };

struct client {
	int fd;
	struct net_tls *tls;
	struct net_tls_cred *cred;
};

/* The result of the handshake with trust in the pair's CA. */
static int dial(const struct http_server *s, const struct pair *trust, struct client *c)
{
	CLEANUP(freep) char *ca = xasprintf("%s/ca.pem", trust->dir);
	char err[256];
	union net_addr a;
	assert_int_equal(net_addr_parse(SLICE("127.0.0.1:0"), &a), 0);
	net_addr_set_port(&a, http_server_port(s));
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(c->fd, &a.sa, net_addr_len(&a)), 0);
	assert_int_equal(
		net_tls_client_cred(&(struct net_tls_files){ .ca = ca }, &c->cred, ERR_TEXT(err)),
		0);
	assert_int_equal(net_tls_connect(c->cred, c->fd, "127.0.0.1", NULL, NULL, &c->tls), 0);
	return net_tls_handshake(c->tls);
}

static void hang_up(struct client *c)
{
	net_tls_free(c->tls);
	net_tls_cred_unref(c->cred);
	close(c->fd);
}

static void ask(struct client *c)
{
	static const char request[] = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
	char reply[1000];
	size_t n = 0;
	assert_int_equal(net_tls_send(c->tls, request, strlen(request)), strlen(request));
	while (n < 5 || memcmp(reply + n - 5, "OK /x", 5) != 0) {
		ssize_t got = net_tls_recv(c->tls, reply + n, sizeof(reply) - n);
		assert_true(got > 0);
		n += (size_t)got;
	}
	assert_memory_equal(reply, "HTTP/1.1 200", 12);
}

static int accepts(const struct http_server *s, const struct pair *trust)
{
	struct client c;
	int r = dial(s, trust, &c);
	if (r == 0)
		ask(&c);
	hang_up(&c);
	return r;
}

static void exchanged_while_open(void **state)
{
	struct pair a, b;
	struct http_tls *tls;
	struct http_server *s;
	struct client early;
	char err[256];
	(void)state;
	pair_init(&a);
	pair_init(&b);
	assert_int_equal(
		http_tls_new(strbuf_slice(&a.cert), strbuf_slice(&a.key), &tls, ERR_TEXT(err)), 0);
	assert_int_equal(http_server_start_tls("127.0.0.1:0", tls, routes, 1, &s), 0);
	assert_int_equal(accepts(s, &a), 0);
	assert_int_equal(accepts(s, &b), ERR_TLS);
	assert_int_equal(dial(s, &a, &early), 0);
	ask(&early);
	assert_int_equal(
		http_tls_set(tls, strbuf_slice(&b.cert), strbuf_slice(&b.key), ERR_TEXT(err)), 0);
	assert_int_equal(accepts(s, &a), ERR_TLS);
	assert_int_equal(accepts(s, &b), 0);
	ask(&early);
	hang_up(&early);
	/* One that is no pair leaves things as they are. */
	assert_int_equal(
		http_tls_set(tls, strbuf_slice(&a.cert), strbuf_slice(&b.key), ERR_TEXT(err)),
		ERR_CONFIG);
	assert_int_equal(accepts(s, &b), 0);
	http_server_stop(s);
	http_tls_free(tls);
	pair_done(&a);
	pair_done(&b);
}

static void bad_texts_are_refused(void **state)
{
	static char big[HTTP_TLS_PEM_MAX_BYTES + 1];
	struct http_tls *tls;
	struct pair a;
	char err[256];
	(void)state;
	pair_init(&a);
	const struct slice bad[] = { SLICE(""), SLICE("x"), { big, sizeof(big) } };
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		err[0] = '\0';
		assert_int_equal(http_tls_new(bad[i], strbuf_slice(&a.key), &tls, ERR_TEXT(err)),
				 ERR_PARSE);
		assert_string_not_equal(err, "");
		assert_int_equal(http_tls_new(strbuf_slice(&a.cert), bad[i], &tls, ERR_TEXT(err)),
				 ERR_PARSE);
	}
	http_tls_free(NULL);
	pair_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exchanged_while_open),
		cmocka_unit_test(bad_texts_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
