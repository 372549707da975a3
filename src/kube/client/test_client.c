/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests against the scripted server: answers, refusals, retries, limits, cancelling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "kube/client/client_priv.h"
#include "kube/client/write_limit.h"
#include "kube/client/config_test.h"
#include "kube/test_rig.h"

static int get(struct rig *g, const char *path, json_t **ret)
{
	kube_status_done(&g->st);
	return kube_call(g->conn, &(struct kube_request){ .method = "GET", .path = path }, ret,
			 &g->st);
}

/* Requests have our own User-Agent, accept JSON, and share one connection. */
static void says_who_it_is(void **state)
{
	struct rig g;
	json_t *v = NULL;
	(void)state;
	rig_up(&g);
	fakeapi_push(g.f, &(struct fakeapi_reply){ .body = "{\"a\":1}" });
	assert_int_equal(get(&g, "/x?y=z", &v), 0);
	assert_int_equal(json_integer_value(json_object_get(v, "a")), 1);
	json_decref(v);
	assert_int_equal(get(&g, "/x", NULL), 0);
	const char *req = fakeapi_request(g.f, 0);
	assert_ptr_equal(strstr(req, "GET /x?y=z HTTP/1.1\r\n"), req);
	assert_non_null(strstr(req, "\r\nUser-Agent: fairlead/"));
	assert_non_null(strstr(req, "\r\nAccept: application/json\r\n"));
	assert_non_null(strstr(req, "\r\nAccept-Encoding: gzip\r\n"));
	assert_null(strstr(req, "Authorization"));
	assert_int_equal(fakeapi_connections(g.f), 1);
	rig_down(&g);
}

static void sends_bodies(void **state)
{
	struct rig g;
	(void)state;
	rig_up(&g);
	json_t *body = json_pack("{s:s}", "k", "v");
	assert_int_equal(
		kube_call(g.conn,
			  &(struct kube_request){ .method = "PATCH",
						  .path = "/p",
						  .body = body,
						  .content_type = "application/merge-patch+json" },
			  NULL, &g.st),
		0);
	json_decref(body);
	const char *req = fakeapi_request(g.f, 0);
	assert_ptr_equal(strstr(req, "PATCH /p HTTP/1.1\r\n"), req);
	assert_non_null(strstr(req, "\r\nContent-Type: application/merge-patch+json\r\n"));
	assert_non_null(strstr(req, "\r\nContent-Length: 9\r\n"));
	assert_null(strstr(req, "Expect"));
	assert_null(strstr(req, "Accept-Encoding"));
	assert_non_null(strstr(req, "\r\n\r\n{\"k\":\"v\"}"));
	rig_down(&g);
}

/* Writes keep to the limit of their connection; reads, and connections without one, do not wait. */
static void writes_are_held_back(void **state)
{
	enum { PER_S = 20, BURST = 2, WRITES = 5 };
	struct rig g;
	(void)state;
	struct kube_write_limit limit;
	rig_up(&g);
	kube_write_limit_init(&limit);
	kube_write_limit_set(&limit, PER_S, BURST);
	kube_conn_set_write_limit(g.conn, &limit);
	const struct kube_request put = { .method = "PUT", .path = "/x", .raw = SLICE("{}") };
	uint64_t began = clock_mono_ns();
	for (int i = 0; i < WRITES; i++)
		assert_int_equal(kube_call(g.conn, &put, NULL, NULL), 0);
	assert_true(clock_mono_ns() - began >= (WRITES - BURST) * NS_PER_S / PER_S);
	kube_write_limit_set(&limit, 1, 1);
	assert_int_equal(kube_call(g.conn, &put, NULL, NULL), 0);
	/* The next one would have to wait a second. */
	const struct kube_request late = {
		.method = "PUT", .path = "/x", .raw = SLICE("{}"), .timeout_ns = 60 * NS_PER_S
	};
	began = clock_mono_ns();
	assert_int_equal(get(&g, "/x", NULL), 0);
	kube_conn_set_write_limit(g.conn, NULL);
	assert_int_equal(kube_call(g.conn, &late, NULL, NULL), 0);
	assert_true(clock_mono_ns() - began < NS_PER_S / 2);
	kube_write_limit_done(&limit);
	rig_down(&g);
}

static void refusals(void **state)
{
	static const struct {
		int status;
		const char *reason;
		int err;
	} rows[] = {
		{ 400, "BadRequest", ERR_CONFIG },
		{ 401, "Unauthorized", ERR_DENIED },
		{ 403, "Forbidden", ERR_DENIED },
		{ 404, "NotFound", ERR_NOTFOUND },
		{ 405, "MethodNotAllowed", ERR_UNSUPPORTED },
		{ 409, "AlreadyExists", ERR_DUPLICATE },
		{ 409, "Conflict", ERR_CONFLICT },
		{ 410, "Expired", ERR_GONE },
		{ 413, "RequestEntityTooLarge", ERR_LIMIT },
		{ 415, "UnsupportedMediaType", ERR_UNSUPPORTED },
		{ 422, "Invalid", ERR_CONFIG },
		{ 429, "TooManyRequests", ERR_BUSY },
		{ 500, "InternalError", ERR_INTERNAL },
		{ 503, "ServiceUnavailable", ERR_BUSY },
		{ 504, "Timeout", ERR_TIMEOUT },
		{ 302, "Found", ERR_PARSE },
	};
	struct rig g;
	(void)state;
	rig_up(&g);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(freep)
		char *body =
			xasprintf("{\"kind\":\"Status\",\"reason\":\"%s\",\"message\":\"m\\nn\","
				  "\"details\":{\"causes\":[{\"field\":\"f\"}]}}",
				  rows[i].reason);
		fakeapi_push(g.f, &(struct fakeapi_reply){ .status = rows[i].status,
							   .headers = "Audit-Id: id-1\r\n",
							   .body = body });
		if (get(&g, "/", NULL) != rows[i].err)
			fail_msg("%d", rows[i].status);
		assert_int_equal(g.st.code, rows[i].status);
		assert_string_equal(g.st.reason, rows[i].reason);
		assert_string_equal(g.st.message, "m n (audit id id-1)");
		assert_int_equal(json_array_size(g.st.causes), 1);
	}
	assert_int_equal(fakeapi_requests(g.f), ARRAY_LEN(rows)); /* none was repeated */
	fakeapi_push(g.f, &(struct fakeapi_reply){ .status = 502, .body = "<html>bad</html>\n" });
	assert_int_equal(get(&g, "/", NULL), ERR_INTERNAL);
	assert_string_equal(g.st.message, "HTTP status 502: <html>bad</html>");
	fakeapi_push(g.f, &(struct fakeapi_reply){ .status = 429, .body = "{}" });
	assert_int_equal(get(&g, "/", NULL), ERR_BUSY);
	assert_string_equal(g.st.message, "HTTP status 429: {}");
	fakeapi_push(g.f, &(struct fakeapi_reply){ .status = 503, .body = " \n" });
	assert_int_equal(get(&g, "/", NULL), ERR_BUSY);
	assert_string_equal(g.st.message, "HTTP status 503");
	rig_down(&g);
}

/* An API server has none: it is a login page or another host, and both origins are named. */
static void redirects(void **state)
{
	static const char *const targets[] = { "https://login.example/auth?token=s3cret",
					       "/other" };
	struct rig g;
	(void)state;
	rig_up(&g);
	for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
		CLEANUP(freep) char *headers = xasprintf("Location: %s\r\n", targets[i]);
		fakeapi_push(g.f, &(struct fakeapi_reply){ .status = 302,
							   .headers = headers,
							   .body = "<html>moved</html>" });
		assert_int_equal(get(&g, "/", NULL), ERR_DENIED);
		assert_non_null(
			strstr(g.st.message, i == 0 ? "redirected (302) to "
						      "https://login.example:443: "
						    : "redirected (302) to http://127.0.0.1:"));
		assert_null(strstr(g.st.message, "s3cret"));
	}
	assert_int_equal(fakeapi_requests(g.f), ARRAY_LEN(targets)); /* none was followed */
	rig_down(&g);
}

/* A request is repeated up to ten times, and only after a reply with Retry-After. */
static void retries_when_told_to(void **state)
{
	struct rig g;
	(void)state;
	rig_up(&g);
	for (int i = 0; i < KUBE_RETRIES_MAX; i++)
		fakeapi_push(g.f, &(struct fakeapi_reply){ .status = i % 2 != 0 ? 429 : 503,
							   .headers = "Retry-After: 0\r\n" });
	assert_int_equal(get(&g, "/", NULL), 0);
	assert_int_equal(fakeapi_requests(g.f), KUBE_RETRIES_MAX + 1);
	for (int i = 0; i <= KUBE_RETRIES_MAX; i++)
		fakeapi_push(g.f, &(struct fakeapi_reply){ .status = 429,
							   .headers = "Retry-After: 0\r\n" });
	assert_int_equal(get(&g, "/", NULL), ERR_BUSY);
	assert_int_equal(fakeapi_requests(g.f), 2 * KUBE_RETRIES_MAX + 2);
	/* Retry-After longer than the caller's time, or than the limit: the error is returned at
	 * once. */
	fakeapi_push(g.f,
		     &(struct fakeapi_reply){ .status = 429, .headers = "Retry-After: 61\r\n" });
	assert_int_equal(get(&g, "/", NULL), ERR_BUSY);
	assert_int_equal(g.st.retry_after_s, 61);
	fakeapi_push(g.f,
		     &(struct fakeapi_reply){ .status = 503, .headers = "Retry-After: 5\r\n" });
	kube_status_done(&g.st);
	assert_int_equal(kube_call(g.conn,
				   &(struct kube_request){ .method = "GET",
							   .path = "/",
							   .timeout_ns = 4 * NS_PER_S },
				   NULL, &g.st),
			 ERR_BUSY);
	assert_int_equal(fakeapi_requests(g.f), 2 * KUBE_RETRIES_MAX + 4);
	rig_down(&g);
}

/* A GET is repeated once when its connection breaks; what writes is not. */
static void broken_connections(void **state)
{
	struct rig g;
	(void)state;
	rig_up(&g);
	fakeapi_push(g.f, &(struct fakeapi_reply){ .cut_at = 1, .reset = true });
	assert_int_equal(get(&g, "/", NULL), 0);
	assert_int_equal(fakeapi_requests(g.f), 2);
	/* On a connection that was kept, libcurl itself would repeat what has a body, too. */
	json_t *body = json_object();
	fakeapi_push(g.f, &(struct fakeapi_reply){ .raw = "", .close = true });
	assert_int_equal(
		kube_call(g.conn,
			  &(struct kube_request){ .method = "POST", .path = "/", .body = body },
			  NULL, &g.st),
		ERR_CLOSED);
	assert_int_equal(g.st.code, 0);
	assert_non_null(strstr(g.st.message, fakeapi_url(g.f)));
	assert_int_equal(fakeapi_requests(g.f), 3);
	json_decref(body);
	/* In the midst of an answer, too; twice is too often. */
	json_t *v = NULL;
	fakeapi_push(g.f, &(struct fakeapi_reply){ .body = "{\"a\":1}", .cut_at = 43 });
	fakeapi_push(g.f, &(struct fakeapi_reply){ .body = "{\"a\":2}" });
	assert_int_equal(get(&g, "/", &v), 0);
	assert_int_equal(json_integer_value(json_object_get(v, "a")), 2);
	assert_int_equal(fakeapi_requests(g.f), 5);
	fakeapi_push(g.f, &(struct fakeapi_reply){ .cut_at = 43 });
	fakeapi_push(g.f, &(struct fakeapi_reply){ .cut_at = 41 });
	assert_int_equal(get(&g, "/", NULL), 0);
	fakeapi_push(g.f, &(struct fakeapi_reply){ .cut_at = 41 });
	fakeapi_push(g.f, &(struct fakeapi_reply){ .cut_at = 41 });
	assert_int_equal(get(&g, "/", NULL), ERR_CLOSED);
	json_decref(v);
	rig_down(&g);
}

static void limits(void **state)
{
	struct rig g;
	json_t *v = NULL;
	(void)state;
	rig_up(&g);
	fakeapi_push(g.f, &(struct fakeapi_reply){ .body = "[\"0123456789ab\"]",
						   .repeat = KUBE_ANSWER_MAX_BYTES / 16 + 1 });
	assert_int_equal(get(&g, "/", &v), ERR_LIMIT);
	assert_int_equal(g.st.code, 200); /* one came, of no use */
	fakeapi_push(g.f, &(struct fakeapi_reply){ .body = "not json" });
	assert_int_equal(get(&g, "/", &v), ERR_PARSE);
	assert_int_equal(g.st.code, 200);
	fakeapi_push(g.f, &(struct fakeapi_reply){ .body = "not json" });
	assert_int_equal(get(&g, "/", NULL), 0);
	fakeapi_push(g.f, &(struct fakeapi_reply){ .raw = "SSH-2.0-x\r\n", .close = true });
	assert_int_equal(get(&g, "/", NULL), ERR_PARSE);
	fakeapi_push(g.f, &(struct fakeapi_reply){ .status = 500,
						   .body = "0123456789abcdef",
						   .repeat = KUBE_ERROR_MAX_BYTES / 8 });
	assert_int_equal(get(&g, "/", NULL), ERR_INTERNAL);
	rig_down(&g);
}

/* A proxy may answer with any JSON; callers read and change members of what they get. */
static void answers_that_are_no_object(void **state)
{
	static const char *const bodies[] = { "[]", "\"ok\"", "null", "1" };
	struct rig g;
	(void)state;
	rig_up(&g);
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		json_t *v = NULL;
		fakeapi_push(g.f, &(struct fakeapi_reply){ .body = bodies[i] });
		assert_int_equal(get(&g, "/", &v), ERR_PARSE);
		assert_null(v);
	}
	rig_down(&g);
}

static void warnings(void **state)
{
	struct rig g;
	(void)state;
	rig_up(&g);
	fakeapi_push(g.f,
		     &(struct fakeapi_reply){
			     .headers = "Warning: 299 - \"old \\\"v1\\\"\"\r\n"
					"Warning: 299 - \"second\"\r\nwarning: 299 - \"second\"\r\n"
					"Warning: 199 - \"no\"\r\n" });
	assert_int_equal(get(&g, "/", NULL), 0);
	assert_string_equal(kube_conn_warnings(g.conn), "old \\\"v1\\\"\nsecond\n");
	assert_int_equal(get(&g, "/", NULL), 0);
	assert_string_equal(kube_conn_warnings(g.conn), "");
	rig_down(&g);
}

static void time_is_over(void **state)
{
	struct rig g;
	(void)state;
	rig_up(&g);
	fakeapi_push(g.f, &(struct fakeapi_reply){ .hang_first = true });
	assert_int_equal(kube_call(g.conn,
				   &(struct kube_request){ .method = "GET",
							   .path = "/",
							   .timeout_ns = 20 * NS_PER_MS },
				   NULL, &g.st),
			 ERR_TIMEOUT);
	assert_int_equal(get(&g, "/", NULL), 0); /* over a new connection */
	assert_int_equal(fakeapi_connections(g.f), 2);
	rig_down(&g);
}

static void *call_it(void *ctx)
{
	struct rig *g = ctx;
	return (void *)(intptr_t)get(g, "/", NULL);
}

static void cancelled_by_another_thread(void **state)
{
	static const struct fakeapi_reply rows[] = {
		{ .hang_first = true },
		{ .status = 429, .headers = "Retry-After: 50\r\n" },
		{ .cut_at = 20, .hang = true },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rig g;
		pthread_t t;
		void *r;
		rig_up(&g);
		fakeapi_push(g.f, &rows[i]);
		uint64_t start = clock_mono_ns();
		assert_int_equal(pthread_create(&t, NULL, call_it, &g), 0);
		fakeapi_request(g.f, 0);
		kube_conn_cancel(g.conn);
		pthread_join(t, &r);
		assert_int_equal((intptr_t)r, -ECANCELED);
		assert_true(clock_mono_ns() - start < 10 * NS_PER_S);
		assert_int_equal(get(&g, "/", NULL), -ECANCELED); /* for ever */
		rig_down(&g);
	}
}

/* Before anything is asked. */
static void cancelled_while_a_plugin_runs(void **state)
{
	struct rig g = { .f = fakeapi_new(NULL) };
	char user[256], err[256], c;
	int started[2];
	pthread_t t;
	void *r;
	(void)state;
	assert_int_equal(pipe(started), 0);
	assert_true(started[1] <= 9); /* sh knows no higher ones */
	snprintf(user, sizeof(user),
		 "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, "
		 "command: sh, args: [-c, 'printf x >&%d; exec sleep 1000']}",
		 started[1]);
	g.client = client_of(fakeapi_url(g.f), user);
	g.conn = kube_conn_new(g.client, ERR_TEXT(err));
	assert_int_equal(pthread_create(&t, NULL, call_it, &g), 0);
	assert_int_equal(read(started[0], &c, 1), 1);
	close(started[1]);
	kube_conn_cancel(g.conn);
	pthread_join(t, &r);
	assert_int_equal((intptr_t)r, -ECANCELED);
	close(started[0]);
	rig_down(&g);
}

static void nobody_there(void **state)
{
	char err[256];
	(void)state;
	struct fakeapi *f = fakeapi_new(NULL);
	struct kube_client *cl = client_of(fakeapi_url(f), "");
	fakeapi_free(f);
	struct kube_conn *c = kube_conn_new(cl, ERR_TEXT(err));
	struct kube_status st;
	assert_int_equal(
		kube_call(c, &(struct kube_request){ .method = "GET", .path = "/" }, NULL, &st),
		ERR_CLOSED);
	assert_non_null(strstr(st.message, "127.0.0.1"));
	kube_status_done(&st);
	assert_int_equal(
		kube_call(c, &(struct kube_request){ .method = "GET", .path = "/" }, NULL, NULL),
		ERR_CLOSED);
	kube_conn_free(c);
	kube_client_free(cl);
}

/* A token is never sent over plain HTTP. */
static void no_token_in_the_clear(void **state)
{
	char err[256];
	struct rig g = { .f = fakeapi_new(NULL) };
	(void)state;
	g.client = client_of(fakeapi_url(g.f), "token: s3cret");
	g.conn = kube_conn_new(g.client, ERR_TEXT(err));
	assert_int_equal(get(&g, "/", NULL), 0);
	assert_null(strstr(fakeapi_request(g.f, 0), "s3cret"));
	rig_down(&g);
}

/* TCP_USER_TIMEOUT and keepalive end a connection whose peer has vanished; exec plugins do not inherit
 * the socket. */
static void sockets(void **state)
{
	struct rig g;
	unsigned found = 0;
	(void)state;
	rig_up(&g);
	assert_int_equal(get(&g, "/", NULL), 0);
	for (int fd = 3; fd < 256; fd++) {
		struct sockaddr_in a = { 0 };
		socklen_t n = sizeof(a), k = sizeof(int);
		int limit = 0, idle = 0, alive = 0;
		if (getpeername(fd, (struct sockaddr *)&a, &n) < 0 || a.sin_family != AF_INET ||
		    ntohs(a.sin_port) != fakeapi_port(g.f))
			continue;
		found++;
		assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, &k), 0);
		assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, &k), 0);
		assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &alive, &k), 0);
		assert_int_equal(limit, 45000);
		assert_int_equal(idle, 30);
		assert_int_equal(alive, 1);
		assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
	}
	assert_int_equal(found, 1);
	rig_down(&g);
}

static void proxies(void **state)
{
	struct rig g = { .f = fakeapi_new(NULL) };
	char err[512], text[512];
	(void)state;
	snprintf(text, sizeof(text),
		 "{current-context: a, contexts: [{name: a, context: {cluster: a}}], clusters: "
		 "[{name: a, cluster: {server: 'http://api.test:81', proxy-url: '%s'}}]}",
		 fakeapi_url(g.f));
	struct kube_config *c = kube_config_new();
	assert_int_equal(kube_config_read(&(struct kube_config_file){ "/f", slice_of(text) }, 1,
					  NULL, c, ERR_TEXT(err)),
			 0);
	setenv("no_proxy", "api.test", 1); /* the kubeconfig's own proxy counts more */
	g.client = kube_client_new(c);
	g.conn = kube_conn_new(g.client, ERR_TEXT(err));
	assert_int_equal(get(&g, "/x", NULL), 0);
	const char *want = "GET http://api.test:81/x HTTP/1.1\r\n";
	assert_int_equal(strncmp(fakeapi_request(g.f, 0), want, strlen(want)), 0);
	rig_down(&g);
	unsetenv("no_proxy");
	/* That of the environment is not for loopback. */
	setenv("http_proxy", "http://127.0.0.1:9", 1);
	rig_up(&g);
	assert_int_equal(get(&g, "/x", NULL), 0);
	rig_down(&g);
	unsetenv("http_proxy");
}

static void no_body(void **state)
{
	struct rig g;
	json_t *v = json_string("alone");
	(void)state;
	rig_up(&g);
	assert_int_equal(
		kube_call(g.conn, &(struct kube_request){ .method = "PUT", .path = "/", .body = v },
			  NULL, &g.st),
		ERR_PARSE);
	assert_int_equal(fakeapi_requests(g.f), 0);
	json_decref(v);
	rig_down(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(says_who_it_is),
		cmocka_unit_test(sends_bodies),
		cmocka_unit_test(writes_are_held_back),
		cmocka_unit_test(refusals),
		cmocka_unit_test(redirects),
		cmocka_unit_test(retries_when_told_to),
		cmocka_unit_test(broken_connections),
		cmocka_unit_test(limits),
		cmocka_unit_test(answers_that_are_no_object),
		cmocka_unit_test(warnings),
		cmocka_unit_test(time_is_over),
		cmocka_unit_test(cancelled_by_another_thread),
		cmocka_unit_test(cancelled_while_a_plugin_runs),
		cmocka_unit_test(nobody_there),
		cmocka_unit_test(no_token_in_the_clear),
		cmocka_unit_test(sockets),
		cmocka_unit_test(proxies),
		cmocka_unit_test(no_body),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
