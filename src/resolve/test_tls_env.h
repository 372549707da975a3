/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An upstream that speaks TLS, driven by the test's own thread: DNS messages or HTTP inside. */
#pragma once

#include <errno.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err_text.h"
#include "http/framing.h"
#include "net/tls.h"
#include "net/tls_test.h"
#include "resolve/stream_priv.h"
#include "resolve/test_env.h"
#include "resolve/upstream.h"
#include "testing/testcert.h"

enum { PEERS = 8, ASKED = 256 };

struct peer {
	int fd;
	struct net_tls *tls;
	bool open;
	struct http_framing *http;
	size_t in_n;
	uint8_t in[TCP_FRAME_MAX];
};

/* A question that came. */
struct asked {
	struct peer *peer;
	uint32_t stream;
	size_t n;
	uint8_t msg[512];
	char method[8];
	char target[600];
	char authority[128];
	char type[64];
};

struct tls_env {
	struct env *e;
	int listener;
	union net_addr addr;
	struct net_tls_cred *cred;
	const char *const *alpn;
	struct peer *peer[PEERS];
	unsigned n_peer;
	struct asked asked[ASKED];
	unsigned n_asked;
	unsigned resumed;
	/* HTTP inside, when set. */
	void (*http_open)(struct tls_env *env, struct peer *peer);
	void (*http_flush)(struct peer *peer);
};

static char tls_dir[] = "/tmp/test-resolve-XXXXXX";

static UNUSED const char *tls_path(const char *name)
{
	static char buf[8][128];
	static unsigned at;
	char *p = buf[at++ % 8];
	snprintf(p, sizeof(buf[0]), "%s/%s", tls_dir, name);
	return p;
}

static UNUSED int tls_make_certs(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(tls_dir));
	struct testcert *t = testcert_new(tls_dir);
	testcert_make(t, "server", "dns.example");
	testcert_make(t, "address", "127.0.0.1");
	testcert_free(t);
	return 0;
}

static UNUSED int tls_remove_certs(void **state)
{
	static const char *const files[] = { "server.pem", "server.key", "address.pem",
					     "address.key", "ca.pem" };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		unlink(tls_path(files[i]));
	return rmdir(tls_dir);
}

static UNUSED struct net_tls_cred *tls_client(bool trusting)
{
	struct net_tls_cred *c = NULL;
	char err[256];
	struct net_tls_files f = { .ca = trusting ? tls_path("ca.pem") : NULL };
	assert_int_equal(net_tls_client_cred(&f, &c, ERR_TEXT(err)), 0);
	return c;
}

static UNUSED struct tls_env *tls_env_new(struct resolve_conf c, const char *cert,
					  const char *const *alpn)
{
	struct tls_env *t = xcalloc(1, sizeof(*t));
	char pem[32], key[32], err[256];
	socklen_t len = sizeof(t->addr);
	snprintf(pem, sizeof(pem), "%s.pem", cert);
	snprintf(key, sizeof(key), "%s.key", cert);
	struct net_tls_files f = { .cert = tls_path(pem), .key = tls_path(key) };
	assert_int_equal(net_tls_server_cred(&f, &t->cred, ERR_TEXT(err)), 0);
	t->alpn = alpn;
	t->addr = (union net_addr){ .v4 = { .sin_family = AF_INET,
					    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) } };
	t->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(t->listener, &t->addr.sa, net_addr_len(&t->addr)), 0);
	assert_int_equal(listen(t->listener, 16), 0);
	assert_int_equal(getsockname(t->listener, &t->addr.sa, &len), 0);
	t->e = env_new(NULL);
	resolve_upstream_unref(t->e->up);
	c.addr = t->addr;
	t->e->up = resolve_upstream_new(&c);
	return t;
}

static UNUSED void peer_close(struct peer *p)
{
	if (p->fd < 0)
		return;
	close(p->fd);
	p->fd = -1;
	net_tls_free(p->tls);
	http_framing_free(p->http);
	p->http = NULL;
	p->tls = NULL;
}

static UNUSED void tls_env_free(struct tls_env *t)
{
	env_free(t->e);
	for (unsigned i = 0; i < t->n_peer; i++) {
		peer_close(t->peer[i]);
		free(t->peer[i]);
	}
	net_tls_cred_unref(t->cred);
	close(t->listener);
	free(t);
}

static void peer_asked(struct tls_env *t, struct peer *p, const void *msg, size_t n)
{
	struct asked *a = &t->asked[t->n_asked++ % ASKED];
	assert_true(n <= sizeof(a->msg));
	*a = (struct asked){ .peer = p, .n = n };
	memcpy(a->msg, msg, n);
}

static void peer_accept(struct tls_env *t)
{
	int fd = accept4(t->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	int on = 1;
	if (fd < 0)
		return;
	assert_true(t->n_peer < PEERS);
	struct peer *p = xcalloc(1, sizeof(*p));
	assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
	p->fd = fd;
	assert_int_equal(net_tls_accept(t->cred, fd, t->alpn, &p->tls), 0);
	t->peer[t->n_peer++] = p;
}

static void peer_read(struct tls_env *t, struct peer *p)
{
	ssize_t n;
	while (p->fd >= 0 &&
	       (n = net_tls_recv(p->tls, p->in + p->in_n, sizeof(p->in) - p->in_n)) > 0) {
		if (p->http != NULL) {
			assert_true(http_framing_feed(p->http, p->in, (size_t)n, env_now) >= 0);
			continue;
		}
		p->in_n += (size_t)n;
		while (p->in_n >= 2 && p->in_n - 2 >= dns_get16(p->in)) {
			size_t len = dns_get16(p->in);
			peer_asked(t, p, p->in + 2, len);
			p->in_n -= 2 + len;
			memmove(p->in, p->in + 2 + len, p->in_n);
		}
	}
}

static void peer_turn(struct tls_env *t, struct peer *p)
{
	if (p->fd < 0)
		return;
	if (!p->open) {
		int r = net_tls_handshake(p->tls);
		if (r < 0 && r != -EAGAIN) {
			peer_close(p);
			return;
		}
		if (r < 0)
			return;
		p->open = true;
		t->resumed += net_tls_resumed(p->tls);
		if (t->http_open != NULL)
			t->http_open(t, p);
	}
	peer_read(t, p);
	if (p->http != NULL)
		t->http_flush(p);
}

/* Until nobody has anything to say. */
static UNUSED void tls_turn(struct tls_env *t)
{
	for (int i = 0; i < 12; i++) {
		env_turn(t->e);
		peer_accept(t);
		for (unsigned k = 0; k < t->n_peer; k++)
			peer_turn(t, t->peer[k]);
	}
}

/* The query with QR set; its letters can be changed first. */
static UNUSED void tls_answer(struct asked *a)
{
	uint8_t m[2 + sizeof(a->msg)];
	dns_put16(m, (uint16_t)a->n);
	memcpy(m + 2, a->msg, a->n);
	m[4] |= 0x80;
	assert_int_equal(net_tls_send(a->peer->tls, m, a->n + 2), a->n + 2);
}
