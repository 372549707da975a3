/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TLS between two ends of a socket pair in one thread: who is trusted, what is refused, and that
 * nothing blocks. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "net/tls.h"
#include "net/tls_test.h"
#include "testing/testcert.h"

static char dir[] = "/tmp/test-tls-XXXXXX";
static char err[256];

static const char *path(const char *name)
{
	return testcert_path(dir, name);
}

static int make_certs(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	struct testcert *t = testcert_new(dir);
	testcert_make(t, "server", "dns.example");
	testcert_make(t, "address", "192.0.2.1");
	testcert_make(t, "client", "client.example");
	testcert_free(t);
	/* Another CA, whose certificates ours does not know. */
	assert_int_equal(rename(path("ca.pem"), path("good.pem")), 0);
	t = testcert_new(dir);
	testcert_make(t, "stranger", "client.example");
	testcert_free(t);
	assert_int_equal(rename(path("ca.pem"), path("other.pem")), 0);
	return 0;
}

static int remove_certs(void **state)
{
	static const char *const files[] = { "server.pem",   "server.key",   "address.pem",
					     "address.key",  "client.pem",   "client.key",
					     "stranger.pem", "stranger.key", "good.pem",
					     "other.pem",    "junk",	     "keylog" };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		unlink(path(files[i]));
	return rmdir(dir);
}

struct pair {
	int fd[2];
	struct net_tls *server, *client;
	int server_result, client_result;
};

static struct net_tls_cred *server_cred(const char *name, enum net_tls_auth auth)
{
	char cert[64], key[64];
	struct net_tls_cred *c = NULL;
	snprintf(cert, sizeof(cert), "%s.pem", name);
	snprintf(key, sizeof(key), "%s.key", name);
	struct net_tls_files f = {
		.cert = path(cert), .key = path(key), .ca = path("good.pem"), .auth = auth
	};
	assert_int_equal(net_tls_server_cred(&f, &c, ERR_TEXT(err)), 0);
	return c;
}

static struct net_tls_cred *client_cred(const char *ca, const char *name)
{
	char cert[64], key[64];
	struct net_tls_cred *c = NULL;
	struct net_tls_files f = { .ca = path(ca) };
	if (name != NULL) {
		snprintf(cert, sizeof(cert), "%s.pem", name);
		snprintf(key, sizeof(key), "%s.key", name);
		f.cert = path(cert);
		f.key = path(key);
	}
	assert_int_equal(net_tls_client_cred(&f, &c, ERR_TEXT(err)), 0);
	return c;
}

/* Both ends in turn until neither waits; a failed end closes, as a program would. */
static void shake(struct pair *p)
{
	p->server_result = p->client_result = -EAGAIN;
	for (int i = 0; i < 50; i++) {
		if (p->client_result == -EAGAIN)
			p->client_result = net_tls_handshake(p->client);
		if (p->server_result == -EAGAIN)
			p->server_result = net_tls_handshake(p->server);
		if (p->client_result < 0 && p->client_result != -EAGAIN)
			shutdown(p->fd[1], SHUT_WR);
		if (p->server_result < 0 && p->server_result != -EAGAIN)
			shutdown(p->fd[0], SHUT_WR);
	}
}

static void pair_open(struct pair *p, struct net_tls_cred *server, struct net_tls_cred *client,
		      const char *name, const struct net_tls_ticket *ticket)
{
	static const char *const both[] = { "h2", "http/1.1", NULL };
	static const char *const mine[] = { "http/1.1", "h2", NULL };
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, p->fd),
			 0);
	assert_int_equal(net_tls_accept(server, p->fd[0], both, &p->server), 0);
	char mutable_name[64];
	snprintf(mutable_name, sizeof(mutable_name), "%s", name);
	assert_int_equal(net_tls_connect(client, p->fd[1], mutable_name, mine, ticket, &p->client),
			 0);
	memset(mutable_name, 'x', sizeof(mutable_name)); /* the name was copied */
	net_tls_cred_unref(server);
	net_tls_cred_unref(client);
}

static void pair_close(struct pair *p)
{
	net_tls_free(p->server);
	net_tls_free(p->client);
	close(p->fd[0]);
	close(p->fd[1]);
}

static void talks(void **state)
{
	struct pair p;
	char buf[64];
	(void)state;
	pair_open(&p, server_cred("server", NET_TLS_NOCERT), client_cred("good.pem", NULL),
		  "dns.example", NULL);
	assert_int_equal(net_tls_handshake(p.client), -EAGAIN);
	assert_false(net_tls_wants_write(p.client));
	shake(&p);
	assert_int_equal(p.server_result, 0);
	assert_int_equal(p.client_result, 0);
	assert_string_equal(net_tls_alpn(p.server), "h2"); /* the server's preference */
	assert_string_equal(net_tls_alpn(p.client), "h2");
	assert_int_equal(net_tls_recv(p.server, buf, sizeof(buf)), -EAGAIN);
	assert_int_equal(net_tls_send(p.client, "question", 8), 8);
	assert_int_equal(net_tls_recv(p.server, buf, 3), 3);
	assert_int_equal(net_tls_pending(p.server), 5);
	assert_int_equal(net_tls_recv(p.server, buf, sizeof(buf)), 5);
	assert_memory_equal(buf, "stion", 5);
	net_tls_bye(p.client);
	assert_int_equal(net_tls_recv(p.server, buf, sizeof(buf)), 0);
	pair_close(&p);
}

/* A full socket is -EAGAIN, and what was said before arrives whole. */
static void writing_does_not_block(void **state)
{
	struct pair p;
	static char big[16384], in[16384];
	(void)state;
	pair_open(&p, server_cred("server", NET_TLS_NOCERT), client_cred("good.pem", NULL),
		  "dns.example", NULL);
	shake(&p);
	size_t sent = 0, got = 0;
	ssize_t n;
	while ((n = net_tls_send(p.client, big, sizeof(big))) > 0) {
		sent += (size_t)n;
		assert_true(sent < 64 << 20);
	}
	assert_int_equal(n, -EAGAIN);
	assert_true(net_tls_wants_write(p.client));
	do {
		n = net_tls_recv(p.server, in, sizeof(in));
		got += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	assert_int_equal(n, -EAGAIN);
	assert_true(got <= sent);
	n = net_tls_send(p.client, big, sizeof(big)); /* the same bytes again */
	assert_true(n > 0);
	sent += (size_t)n;
	while ((n = net_tls_recv(p.server, in, sizeof(in))) > 0)
		got += (size_t)n;
	assert_int_equal(got, sent);
	pair_close(&p);
}

static void key_log(void **state)
{
	struct pair p;
	struct net_tls_cred *c = NULL;
	struct net_tls_files f = { .cert = path("server.pem"), .key = path("server.key") };
	char text[4096] = "";
	(void)state;
	f.keylog = path("no/such/keylog");
	assert_int_equal(net_tls_server_cred(&f, &c, ERR_TEXT(err)), -ENOENT);
	assert_non_null(strstr(err, "cannot write the key log '"));
	f.keylog = path("keylog");
	assert_int_equal(net_tls_server_cred(&f, &c, ERR_TEXT(err)), 0);
	pair_open(&p, c, client_cred("good.pem", NULL), "dns.example", NULL);
	shake(&p);
	assert_int_equal(p.server_result, 0);
	pair_close(&p);
	int fd = open(path("keylog"), O_RDONLY | O_CLOEXEC);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	assert_non_null(strstr(text, "CLIENT_HANDSHAKE_TRAFFIC_SECRET "));
	assert_int_equal(text[strlen(text) - 1], '\n');
}

/* Sessions resume with the ticket of an earlier one, on the same credentials. */
static void resumes(void **state)
{
	struct net_tls_ticket ticket = { 0 };
	struct net_tls_cred *s = server_cred("server", NET_TLS_NOCERT);
	char buf[8];
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct pair p;
		pair_open(&p, net_tls_cred_ref(s), client_cred("good.pem", NULL), "dns.example",
			  &ticket);
		shake(&p);
		assert_int_equal(p.client_result, 0);
		assert_int_equal(net_tls_resumed(p.client), i == 1);
		assert_int_equal(net_tls_resumed(p.server), i == 1);
		assert_int_equal(net_tls_recv(p.client, buf, sizeof(buf)), -EAGAIN);
		free(ticket.p);
		net_tls_ticket_take(p.client, &ticket);
		assert_non_null(ticket.p);
		pair_close(&p);
	}
	free(ticket.p);
	net_tls_cred_unref(s);
}

static const struct {
	const char *what, *server, *ca, *name;
	enum net_tls_auth auth;
	const char *client;
	bool good;
	const char *text; /* part of an error on either side */
} cases[] = {
	{ "host name", "server", "good.pem", "dns.example", NET_TLS_NOCERT, NULL, true, "" },
	{ "other name", "server", "good.pem", "www.example", NET_TLS_NOCERT, NULL, false,
	  "does not match" },
	{ "address", "address", "good.pem", "192.0.2.1", NET_TLS_NOCERT, NULL, true, "" },
	{ "other address", "address", "good.pem", "192.0.2.2", NET_TLS_NOCERT, NULL, false,
	  "does not match" },
	{ "unknown CA", "server", "other.pem", "dns.example", NET_TLS_NOCERT, NULL, false,
	  "NOT trusted" },
	{ "request, none", "server", "good.pem", "dns.example", NET_TLS_REQUEST, NULL, true, "" },
	{ "request, stranger", "server", "good.pem", "dns.example", NET_TLS_REQUEST, "stranger",
	  true, "" },
	{ "require, none", "server", "good.pem", "dns.example", NET_TLS_REQUIRE, NULL, false, "" },
	{ "require, stranger", "server", "good.pem", "dns.example", NET_TLS_REQUIRE, "stranger",
	  true, "" },
	{ "verify if given, none", "server", "good.pem", "dns.example", NET_TLS_VERIFY_IF_GIVEN,
	  NULL, true, "" },
	{ "verify if given, stranger", "server", "good.pem", "dns.example", NET_TLS_VERIFY_IF_GIVEN,
	  "stranger", false, "" },
	{ "verify, client", "server", "good.pem", "dns.example", NET_TLS_REQUIRE_AND_VERIFY,
	  "client", true, "" },
	{ "verify, stranger", "server", "good.pem", "dns.example", NET_TLS_REQUIRE_AND_VERIFY,
	  "stranger", false, "" },
	{ "verify, none", "server", "good.pem", "dns.example", NET_TLS_REQUIRE_AND_VERIFY, NULL,
	  false, "" },
};

static void who_is_trusted(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct pair p;
		pair_open(&p, server_cred(cases[i].server, cases[i].auth),
			  client_cred(cases[i].ca, cases[i].client), cases[i].name, NULL);
		shake(&p);
		bool good = p.server_result == 0 && p.client_result == 0;
		if (good != cases[i].good)
			fail_msg("%s: server %d %s, client %d %s", cases[i].what, p.server_result,
				 net_tls_error(p.server), p.client_result, net_tls_error(p.client));
		if (strstr(net_tls_error(p.client), cases[i].text) == NULL)
			fail_msg("%s: %s", cases[i].what, net_tls_error(p.client));
		pair_close(&p);
	}
}

static void no_common_protocol(void **state)
{
	static const char *const dot[] = { "dot", NULL };
	static const char *const h2[] = { "h2", NULL };
	struct net_tls_cred *s = server_cred("server", NET_TLS_NOCERT);
	struct net_tls_cred *c = client_cred("good.pem", NULL);
	(void)state;
	for (int with = 0; with < 2; with++) {
		struct pair p;
		assert_int_equal(
			socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, p.fd),
			0);
		assert_int_equal(net_tls_accept(s, p.fd[0], dot, &p.server), 0);
		assert_int_equal(net_tls_connect(c, p.fd[1], "dns.example", with ? h2 : NULL, NULL,
						 &p.client),
				 0);
		shake(&p);
		assert_int_equal(p.server_result, with ? ERR_TLS : 0);
		assert_string_equal(net_tls_alpn(p.server), "");
		pair_close(&p);
	}
	net_tls_cred_unref(s);
	net_tls_cred_unref(c);
}

static void garbage_is_refused(void **state)
{
	struct pair p;
	(void)state;
	pair_open(&p, server_cred("server", NET_TLS_NOCERT), client_cred("good.pem", NULL),
		  "dns.example", NULL);
	assert_int_equal(write(p.fd[1], "GET / HTTP/1.1\r\n\r\n", 18), 18);
	assert_int_equal(net_tls_handshake(p.server), ERR_TLS);
	assert_true(net_tls_error(p.server)[0] != '\0');
	pair_close(&p);
}

static void bad_files(void **state)
{
	struct net_tls_cred *c = NULL;
	FILE *f = fopen(path("junk"), "we");
	(void)state;
	assert_non_null(f);
	fputs("no certificate\n", f);
	fclose(f);
	const struct {
		const char *cert, *key, *ca;
		int code;
		const char *text;
	} bad[] = {
		{ "none.pem", "server.key", NULL, -ENOENT, "cannot read certificate" },
		{ "server.pem", "none.key", NULL, -ENOENT, "cannot read key" },
		{ "junk", "server.key", NULL, ERR_PARSE, "junk" },
		{ "server.pem", "junk", NULL, ERR_PARSE, "server.pem" },
		{ "server.pem", "client.key", NULL, ERR_PARSE, "does not belong" },
		{ "server.pem", "server.key", "junk", ERR_PARSE, "CA certificates" },
		{ "server.pem", "server.key", "none.pem", -ENOENT, "read CA certificates" },
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct net_tls_files files = { .cert = path(bad[i].cert),
					       .key = path(bad[i].key),
					       .ca = bad[i].ca != NULL ? path(bad[i].ca) : NULL };
		err[0] = '\0';
		assert_int_equal(net_tls_server_cred(&files, &c, ERR_TEXT(err)), bad[i].code);
		assert_null(c);
		if (strstr(err, bad[i].text) == NULL)
			fail_msg("row %zu: %s", i, err);
	}
}

/* Who needs only the system's CA set shares it. */
static void system_set_is_shared(void **state)
{
	struct net_tls_cred *a = NULL, *b = NULL;
	struct net_tls_files none = { 0 };
	(void)state;
	int r = net_tls_client_cred(&none, &a, ERR_TEXT(err));
	if (r == ERR_NOTFOUND) { /* a machine without ca-certificates */
		assert_non_null(strstr(err, "ca-certificates"));
		return;
	}
	assert_int_equal(r, 0);
	assert_int_equal(net_tls_client_cred(&none, &b, ERR_TEXT(err)), 0);
	assert_ptr_equal(a, b);
	net_tls_cred_unref(a);
	net_tls_cred_unref(b);
	assert_int_equal(net_tls_client_cred(&none, &a, ERR_TEXT(err)), 0);
	net_tls_cred_unref(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(talks),
		cmocka_unit_test(writing_does_not_block),
		cmocka_unit_test(key_log),
		cmocka_unit_test(resumes),
		cmocka_unit_test(who_is_trusted),
		cmocka_unit_test(no_common_protocol),
		cmocka_unit_test(garbage_is_refused),
		cmocka_unit_test(bad_files),
		cmocka_unit_test(system_set_is_shared),
	};
	return cmocka_run_group_tests(tests, make_certs, remove_certs);
}
