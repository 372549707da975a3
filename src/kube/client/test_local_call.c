/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls by a socket: what is sent, kept connections and broken ones, limits of time, and the end of a
 * wait by another thread. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "kube/client/stream.h"
#include "kube/test_rig.h"

#define OK(body) "HTTP/1.1 200 OK\r\nAudit-Id: id-1\r\nContent-Length: " body

enum { REPLIES_MAX = 8 };

/* Answers each request with the next text; "close" closes the connection without one, "hang" is
 * silent. */
struct server {
	char dir[64], path[96];
	int fd;
	pthread_t thread;
	const char *replies[REPLIES_MAX];
	size_t n_replies;
	_Atomic size_t connections, requests;
	char *seen[REPLIES_MAX];
	struct kube_client *client;
	struct kube_conn *conn;
	struct kube_status st;
};

/* One request, or NULL at the end of the connection. */
static char *read_request(int fd)
{
	struct strbuf text = STRBUF_INIT;
	char buf[4096];
	for (;;) {
		const char *end = strstr(text.s, "\r\n\r\n");
		const char *length = strstr(text.s, "Content-Length: ");
		if (end != NULL && length != NULL &&
		    text.n >= (size_t)(end + 4 - text.s) +
				      strtoul(length + strlen("Content-Length: "), NULL, 10))
			return strbuf_take(&text);
		ssize_t n = read(fd, buf, sizeof(buf));
		if (n <= 0)
			break;
		strbuf_add(&text, buf, (size_t)n);
	}
	strbuf_done(&text);
	return NULL;
}

/* False: close the connection. */
static bool answer_next(struct server *server, int fd)
{
	char *request = read_request(fd);
	if (request == NULL)
		return false;
	size_t at = server->requests;
	server->seen[at] = request;
	server->requests++;
	const char *reply = at < server->n_replies ? server->replies[at] : OK("2\r\n\r\n{}");
	if (strcmp(reply, "close") == 0)
		return false;
	if (strcmp(reply, "hang") == 0)
		return true;
	assert_int_equal(write(fd, reply, strlen(reply)), strlen(reply));
	return strstr(reply, "then-close") == NULL;
}

static void *serve(void *arg)
{
	struct server *server = arg;
	int fd;
	while ((fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		server->connections++;
		while (answer_next(server, fd))
			;
		close(fd);
	}
	return NULL;
}

static void server_up(struct server *server, const char *const *replies)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char url[128], err[256];
	*server = (struct server){ .dir = "/tmp/fairlead-local-XXXXXX" };
	for (; replies != NULL && *replies != NULL; replies++)
		server->replies[server->n_replies++] = *replies;
	assert_non_null(mkdtemp(server->dir));
	snprintf(server->path, sizeof(server->path), "%s/s", server->dir);
	memcpy(address.sun_path, server->path, strlen(server->path) + 1);
	server->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(server->fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(server->fd, 8), 0);
	assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
	snprintf(url, sizeof(url), "unix://%s", server->path);
	server->client = client_of(url, "token: secret");
	server->conn = kube_conn_new(server->client, ERR_TEXT(err));
	assert_non_null(server->conn);
}

static void server_down(struct server *server)
{
	kube_status_done(&server->st);
	kube_conn_free(server->conn);
	kube_client_free(server->client);
	shutdown(server->fd, SHUT_RDWR);
	pthread_join(server->thread, NULL);
	close(server->fd);
	for (size_t i = 0; i < REPLIES_MAX; i++)
		free(server->seen[i]);
	unlink(server->path);
	rmdir(server->dir);
}

static int write_once(struct server *server, uint64_t timeout_ns, json_t **ret)
{
	json_t *body = json_pack("{s:s}", "a", "b");
	const struct kube_request request = {
		.method = "PUT", .path = "/x?y=1", .body = body, .timeout_ns = timeout_ns
	};
	kube_status_done(&server->st);
	int r = kube_call(server->conn, &request, ret, &server->st);
	json_decref(body);
	return r;
}

static void keeps_its_connection(void **state)
{
	struct server server;
	json_t *got = NULL;
	(void)state;
	server_up(&server,
		  (const char *const[]){
			  OK("20\r\nWarning: 299 - \"old\"\r\n\r\n{\"metadata\":{\"a\":1}}"),
			  "HTTP/1.1 404 Not Found\r\nContent-Length: 48\r\n\r\n"
			  "{\"kind\":\"Status\",\"message\":\"no\",\"reason\":\"None\"}",
			  OK("2\r\nConnection: close\r\nX: then-close\r\n\r\n{}"), NULL });
	assert_int_equal(write_once(&server, 0, &got), 0);
	assert_int_equal(json_integer_value(api_get(got, "metadata.a")), 1);
	json_decref(got);
	assert_string_equal(kube_conn_warnings(server.conn), "old\n");
	assert_non_null(strstr(server.seen[0], "PUT /x?y=1 HTTP/1.1\r\nHost: localhost\r\n"));
	assert_non_null(strstr(server.seen[0], "Authorization: Bearer secret\r\n"));
	assert_non_null(strstr(server.seen[0], "Content-Type: application/json\r\n"));
	assert_non_null(strstr(server.seen[0], "Content-Length: 9\r\n\r\n{\"a\":\"b\"}"));
	assert_int_equal(write_once(&server, 0, NULL), ERR_NOTFOUND);
	assert_string_equal(server.st.reason, "None");
	assert_int_equal(write_once(&server, 0, NULL), 0);
	assert_int_equal(server.connections, 1);
	assert_int_equal(write_once(&server, 0, NULL), 0); /* the server has closed it */
	assert_int_equal(server.connections, 2);
	server_down(&server);
}

/* A write that may have been done is not repeated. */
static void broken_connections(void **state)
{
	struct server server;
	(void)state;
	server_up(&server, (const char *const[]){ OK("2\r\n\r\n{}"), "close",
						  OK("9\r\nX: then-close\r\n\r\n{}"),
						  "nonsense\r\n\r\n", NULL });
	assert_int_equal(write_once(&server, 0, NULL), 0);
	assert_int_equal(write_once(&server, 0, NULL), ERR_CLOSED);
	assert_non_null(strstr(server.st.message, "ended before the reply"));
	assert_int_equal(write_once(&server, 0, NULL), ERR_CLOSED);
	assert_int_equal(write_once(&server, 0, NULL), ERR_PARSE);
	assert_int_equal(server.requests, 4);
	assert_int_equal(write_once(&server, 0, NULL), 0);
	server_down(&server);
	/* Nobody listens. */
	server_up(&server, NULL);
	unlink(server.path);
	assert_int_equal(write_once(&server, 0, NULL), ERR_CLOSED);
	assert_non_null(strstr(server.st.message, "check that the server runs"));
	server_down(&server);
}

static void waits_as_long_as_it_may(void **state)
{
	struct server server;
	(void)state;
	server_up(&server, (const char *const[]){ "hang", NULL });
	uint64_t began = clock_mono_ns();
	assert_int_equal(write_once(&server, 30 * NS_PER_MS, NULL), ERR_TIMEOUT);
	assert_true(clock_mono_ns() - began >= 30 * NS_PER_MS);
	assert_non_null(strstr(server.st.message, "may still act on it"));
	server_down(&server);
}

static void *cancel_when_asked(void *arg)
{
	struct server *server = arg;
	while (server->requests == 0)
		poll(NULL, 0, 1);
	kube_conn_cancel(server->conn);
	return NULL;
}

static void ends_when_cancelled(void **state)
{
	struct server server;
	pthread_t thread;
	(void)state;
	server_up(&server, (const char *const[]){ "hang", NULL });
	assert_int_equal(pthread_create(&thread, NULL, cancel_when_asked, &server), 0);
	assert_int_equal(write_once(&server, 600 * NS_PER_S, NULL), -ECANCELED);
	pthread_join(thread, NULL);
	assert_int_equal(write_once(&server, 600 * NS_PER_S, NULL), -ECANCELED);
	assert_int_equal(server.requests, 1);
	server_down(&server);
}

/* Larger than any buffer between, both ways. */
static void large_bodies(void **state)
{
	enum { LARGE = 3 << 20 };
	struct strbuf reply = STRBUF_INIT;
	struct server server;
	json_t *got = NULL;
	(void)state;
	CLEANUP(freep) char *filler = xmalloc(LARGE + 1);
	memset(filler, 'x', LARGE);
	filler[LARGE] = '\0';
	strbuf_addf(&reply, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n{\"a\":\"%s\"}",
		    LARGE + 8, filler);
	server_up(&server, (const char *const[]){ reply.s, NULL });
	json_t *body = json_pack("{s:s}", "a", filler);
	const struct kube_request request = { .method = "POST", .path = "/", .body = body };
	assert_int_equal(kube_call(server.conn, &request, &got, &server.st), 0);
	assert_true(json_equal(got, body));
	assert_non_null(strstr(server.seen[0], filler));
	json_decref(got);
	json_decref(body);
	server_down(&server);
	strbuf_done(&reply);
}

/* A refusal with a time is repeated after it, as over other connections. */
static void repeats_when_told(void **state)
{
	struct server server;
	(void)state;
	server_up(&server,
		  (const char *const[]){ "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\n"
					 "Content-Length: 0\r\n\r\n",
					 OK("2\r\n\r\n{}"), NULL });
	assert_int_equal(write_once(&server, 0, NULL), 0);
	assert_int_equal(server.requests, 2);
	server_down(&server);
}

static int collect(void *ctx, struct slice bytes)
{
	strbuf_add_slice(ctx, bytes);
	return 0;
}

/* A list or watch comes in chunks, and may be silent for a while only. */
static void streams(void **state)
{
	struct strbuf got = STRBUF_INIT;
	struct server server;
	struct kube_stream stream = { .path = "/list", .data = collect, .ctx = &got };
	(void)state;
	server_up(&server,
		  (const char *const[]){
			  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
			  "2\r\n{}\r\n3\r\n[1]\r\n0\r\n\r\n",
			  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
			  NULL });
	assert_int_equal(kube_stream(server.conn, &stream, &server.st), 0);
	assert_string_equal(got.s, "{}[1]");
	assert_non_null(strstr(server.seen[0], "GET /list HTTP/1.1\r\n"));
	strbuf_reset(&got);
	stream.idle_ns = 30 * NS_PER_MS;
	uint64_t began = clock_mono_ns();
	assert_int_equal(kube_stream(server.conn, &stream, &server.st), ERR_TIMEOUT);
	assert_true(clock_mono_ns() - began >= stream.idle_ns);
	assert_non_null(strstr(server.st.message, "no data received for"));
	assert_string_equal(got.s, "{}");
	assert_int_equal(server.connections, 1);
	server_down(&server);
	strbuf_done(&got);
}

/* No token or path can begin another header or request. */
static void no_smuggling(void **state)
{
	struct server server;
	(void)state;
	server_up(&server, NULL);
	const struct kube_request request = { .method = "POST", .path = "/x\r\nEvil: 1" };
	assert_int_equal(kube_call(server.conn, &request, NULL, &server.st), ERR_CONFIG);
	const struct kube_request blank = { .method = "POST", .path = "/x y" };
	kube_status_done(&server.st);
	assert_int_equal(kube_call(server.conn, &blank, NULL, &server.st), ERR_CONFIG);
	assert_int_equal(server.requests, 0);
	server_down(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_its_connection),
		cmocka_unit_test(broken_connections),
		cmocka_unit_test(waits_as_long_as_it_may),
		cmocka_unit_test(ends_when_cancelled),
		cmocka_unit_test(large_bodies),
		cmocka_unit_test(repeats_when_told),
		cmocka_unit_test(streams),
		cmocka_unit_test(no_smuggling),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
