/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The HTTP front over real HTTP, with a fake API behind it. */
#include "apiserver/access/http_front.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "apiserver/request/answer.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "net/addr.h"

/* --- a fake of the API: its reply repeats the request; its stream has three lines, one per wake
 * --- */

struct apiserver_stream {
	pthread_mutex_t lock; /* guards all */
	void (*wake)(void *ctx);
	void *ctx;
	unsigned ready, said;
};

static struct apiserver_stream stream = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void fake_serve(void *ctx, const struct apiserver_call *c, struct apiserver_answer *ret)
{
	apiserver_answer_init(ret);
	assert_ptr_equal(ctx, &stream);
	strbuf_addf(&ret->body, "%s %s by %s accept=%s type=%s agent=%s inm=%s", c->method_text,
		    c->path, c->who->user, c->accept, c->content_type, c->user_agent,
		    c->if_none_match);
	for (size_t i = 0; i < c->n_args; i++)
		strbuf_addf(&ret->body, " %s=%s", c->args[i].name, c->args[i].value);
	strbuf_addf(&ret->body, " [%.*s]", (int)c->body.n, c->body.p);
	if (strstr(c->path, "/warn") != NULL) {
		strbuf_adds(&ret->warnings, "unknown field \"spec.x\"\n\nsecond\n");
		ret->retry_after_s = 7;
		snprintf(ret->etag, sizeof(ret->etag), "\"E\"");
	}
	if (c->n_args > 0 && strcmp(c->args[0].name, "watch") == 0) {
		strbuf_reset(&ret->body);
		ret->stream = &stream;
	}
}

static void fake_done(struct apiserver_answer *a)
{
	assert_null(a->stream);
	strbuf_done(&a->body);
	strbuf_done(&a->warnings);
}

static void fake_on_wake(struct apiserver_stream *s, void (*wake)(void *ctx), void *ctx)
{
	pthread_mutex_lock(&s->lock);
	s->wake = wake;
	s->ctx = ctx;
	pthread_mutex_unlock(&s->lock);
}

static ssize_t fake_pull(struct apiserver_stream *s, char *buf, size_t n)
{
	ssize_t got = 0;
	pthread_mutex_lock(&s->lock);
	if (s->said == 3)
		got = -1;
	else if (s->said < s->ready)
		got = snprintf(buf, n, "event %u\n", s->said++);
	pthread_mutex_unlock(&s->lock);
	return got;
}

static void fake_free(struct apiserver_stream *s)
{
	pthread_mutex_lock(&s->lock);
	s->wake = NULL;
	pthread_mutex_unlock(&s->lock);
}

static const struct apiserver_backend backend = {
	.ctx = &stream,
	.serve = fake_serve,
	.done = fake_done,
	.on_wake = fake_on_wake,
	.pull = fake_pull,
	.free = fake_free,
};

static bool well = true;

static bool is_well(void *ctx, struct strbuf *why)
{
	(void)ctx;
	strbuf_adds(why, "its reason");
	return well;
}

static const struct apiserver_health health[] = {
	{ .name = "store", .ok = is_well },
	{ .name = "data", .ok = is_well, .ready_only = true },
	{ .name = "disk", .ok = is_well, .by_name_only = true }
};

/* --- the rig --- */

static struct {
	char dir[64];
	struct apiserver_authenticator *authenticator;
	struct apiserver_discovery *discovery;
	struct apiserver_http_front front;
	struct http_service *service;
} rig;

static int start(void **state)
{
	char err[256];
	size_t n;
	const struct apiserver_resource *const *rows = apiserver_resources(&n);
	(void)state;
	snprintf(rig.dir, sizeof(rig.dir), "/tmp/test_front.XXXXXX");
	assert_non_null(mkdtemp(rig.dir));
	assert_int_equal(apiserver_authenticator_open(rig.dir, &rig.authenticator, ERR_TEXT(err)),
			 0);
	rig.discovery = apiserver_discovery_new(rows, n, "0.1.0", "127.0.0.1:1", NULL);
	rig.front = (struct apiserver_http_front){ .authenticator = rig.authenticator,
						   .discovery = rig.discovery,
						   .backend = &backend,
						   .health = health,
						   .n_health = ARRAY_LEN(health) };
	return http_service_start(
		&(struct http_service_conf){ .addr = "127.0.0.1:0",
					     .max_body_bytes = 100,
					     .is_known = apiserver_http_front_is_authenticated,
					     .busy = apiserver_http_front_busy,
					     .handle = apiserver_http_front_handle,
					     .too_long = apiserver_http_front_too_long,
					     .ctx = &rig.front },
		&rig.service);
}

static int stop(void **state)
{
	static const char *const files[] = { "admin.token", "system.token" };
	(void)state;
	http_service_stop(rig.service);
	apiserver_discovery_free(rig.discovery);
	apiserver_authenticator_free(rig.authenticator);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		CLEANUP(freep) char *path = xasprintf("%s/%s", rig.dir, files[i]);
		unlink(path);
	}
	return rmdir(rig.dir);
}

static int dial(void)
{
	union net_addr a;
	struct timeval limit = { .tv_sec = 20 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	assert_int_equal(net_addr_parse(SLICE("127.0.0.1:0"), &a), 0);
	net_addr_set_port(&a, http_service_port(rig.service));
	assert_int_equal(connect(fd, &a.sa, net_addr_len(&a)), 0);
	return fd;
}

/* `auth` is "", "user", "system" or a header's value; the caller frees. */
static char *request(const char *line, const char *auth, const char *more)
{
	const char *value = strcmp(auth, "user") == 0
				    ? apiserver_authenticator_user_token(rig.authenticator)
			    : strcmp(auth, "system") == 0
				    ? apiserver_authenticator_system_token(rig.authenticator)
				    : auth;
	return xasprintf("%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s%s%s%s\r\n", line,
			 *auth != '\0' ? "Authorization: Bearer " : "", value,
			 *auth != '\0' ? "\r\n" : "", more);
}

static char *ask(const char *line, const char *auth, const char *more)
{
	CLEANUP(freep) char *text = request(line, auth, more);
	struct strbuf in = STRBUF_INIT;
	char part[4096];
	ssize_t n;
	int fd = dial();
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	while ((n = recv(fd, part, sizeof(part), 0)) > 0)
		strbuf_add(&in, part, (size_t)n);
	close(fd);
	return strbuf_take(&in);
}

static void check(const char *line, const char *auth, const char *more, const char *status,
		  const char *part)
{
	CLEANUP(freep) char *reply = ask(line, auth, more);
	if (strncmp(reply, "HTTP/1.1 ", 9) != 0 || strncmp(reply + 9, status, 3) != 0 ||
	    strstr(reply, part) == NULL)
		fail_msg("%s as %s: %s", line, auth, reply);
}

static void who_may_ask(void **state)
{
	static const char refused[] =
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
		"\"message\":\"Unauthorized\",\"reason\":\"Unauthorized\",\"code\":401}";
	(void)state;
	check("GET /api/v1/pods", "", "", "401", refused);
	check("GET /api/v1/pods", "wrong", "", "401", refused);
	check("GET /api", "", "", "401", refused);
	check("GET /metrics", "", "", "401", refused);
	check("GET /version", "wrong", "", "401", refused);
	check("GET /version", "", "", "200", "\"gitVersion\":\"v1.37.0+fairlead.0.1.0\"");
	check("GET /version", "user", "", "200", "\"gitVersion\"");
	check("GET /api/v1/pods", "user", "", "200", "GET /api/v1/pods by admin");
	check("GET /api/v1/pods", "system", "", "200", "GET /api/v1/pods by system:fairlead");
	check("POST /api/v1/pods", "", "Content-Length: 99999999\r\n", "401", refused);
}

static void calls_are_whole(void **state)
{
	(void)state;
	check("POST /api/v1/namespaces/a/configmaps?dryRun=All&x", "user",
	      "Accept: text/x\r\nContent-Type: application/json\r\nUser-Agent: me\r\n"
	      "If-None-Match: \"T\"\r\nContent-Length: 2\r\n\r\n{}",
	      "200",
	      "POST /api/v1/namespaces/a/configmaps by admin accept=text/x type=application/json "
	      "agent=me inm=\"T\" dryRun=All x= [{}]");
	check("GET /api/v1/warn", "user", "", "200",
	      "Warning: 299 - \"unknown field \\\"spec.x\\\"\"\r\n");
	check("GET /api/v1/warn", "user", "", "200", "Warning: 299 - \"second\"\r\n");
	check("GET /api/v1/warn", "user", "", "200", "Etag: \"E\"\r\n");
	check("GET /api/v1/warn", "user", "", "200", "Retry-After: 7\r\n");
	check("GET /api/v1/pods", "user", "Audit-ID: mine\r\n", "200", "Audit-Id: mine\r\n");
	check("GET /api/v1/pods", "user", "", "200", "Audit-Id: ");
	check("POST /api/v1/pods", "user", "Content-Length: 99999999\r\n", "413",
	      "\"message\":\"Request entity too large: limit is 3145728\",\"reason\":"
	      "\"RequestEntityTooLarge\",\"code\":413}");
	CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
	strbuf_adds(&line, "GET /api/v1/pods?a0");
	for (int i = 1; i < APISERVER_ARGS_MAX; i++)
		strbuf_addf(&line, "&a%d", i);
	check(line.s, "user", "", "200", " a63= []");
	strbuf_adds(&line, "&b");
	check(line.s, "user", "", "400", "too many query parameters");
}

static void what_only_the_system_writes(void **state)
{
	static const struct {
		const char *line, *message;
	} rows[] = {
		{ "POST /apis/k8s.ovn.org/v1/namespaces/default/dnsnames",
		  "\"message\":\"dnsnames.k8s.ovn.org is forbidden: User \\\"admin\\\" cannot "
		  "create "
		  "resource \\\"dnsnames\\\" in API group \\\"k8s.ovn.org\\\" in the namespace "
		  "\\\"default\\\"\",\"reason\":\"Forbidden\",\"details\":{\"group\":\"k8s.ovn."
		  "org\","
		  "\"kind\":\"dnsnames\"},\"code\":403}" },
		{ "DELETE /apis/k8s.ovn.org/v1/namespaces/default/dnsnames/x",
		  "\"message\":\"dnsnames.k8s.ovn.org \\\"x\\\" is forbidden: User \\\"admin\\\" "
		  "cannot "
		  "delete resource" },
		{ "DELETE /apis/k8s.ovn.org/v1/namespaces/default/dnsnames",
		  "cannot deletecollection resource" },
		{ "PUT /apis/operator.openshift.io/v1/dnses/x/status",
		  "\"message\":\"dnses.operator.openshift.io \\\"x\\\" is forbidden: User "
		  "\\\"admin\\\" cannot update resource \\\"dnses/status\\\" in API group "
		  "\\\"operator.openshift.io\\\" at the cluster scope\",\"reason\":\"Forbidden\","
		  "\"details\":{\"name\":\"x\",\"group\":\"operator.openshift.io\",\"kind\":"
		  "\"dnses\"},\"code\":403}" },
		{ "PATCH /apis/k8s.ovn.org/v1/namespaces/default/egressfirewalls/p/status",
		  "egressfirewalls.k8s.ovn.org \\\"p\\\" is forbidden: User \\\"admin\\\" cannot "
		  "patch resource \\\"egressfirewalls/status\\\" in API group "
		  "\\\"k8s.ovn.org\\\" in the namespace \\\"default\\\"" },
		{ "PATCH /api/v1/namespaces/a/status", "cannot patch resource "
						       "\\\"namespaces/status\\\"" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		check(rows[i].line, "user", "", "403", rows[i].message);
		check(rows[i].line, "system", "", "200", "by system:fairlead");
	}
	check("GET /apis/k8s.ovn.org/v1/dnsnames?limit=1", "user", "", "200", "by admin");
	check("GET /api/v1/nodes/x/status", "user", "", "200", "by admin");
	check("PUT /api/v1/nodes/x/status", "user", "", "200", "by admin");
	check("PATCH /api/v1/namespaces/default/pods/p/status", "user", "", "200", "by admin");
	check("DELETE /api/v1/namespaces/a", "user", "", "200", "by admin");
	/* Empty parts lead nowhere; a slash at the end, however it is written, changes nothing. */
	check("PATCH //api/v1//nodes/x/status", "user", "", "404", "404 page not found");
	check("PATCH /apis/k8s.ovn.org/v1/namespaces/a/egressfirewalls/default/status/", "user", "",
	      "403", "egressfirewalls/status");
	check("PATCH /apis/k8s.ovn.org/v1/namespaces/a/egressfirewalls/default/status%2f", "user",
	      "", "403", "egressfirewalls/status");
	/* Any bytes: they are shown as U+FFFD. */
	check("PUT /apis/k8s.ovn.org/v1/namespaces/%ff/egressfirewalls/x/status", "user", "", "403",
	      "in the namespace \\\"\xef\xbf\xbd\\\"");
	check("PUT /apis/%ff/v1/%fe/%fd/status", "user", "", "403",
	      "\"details\":{\"name\":\"\xef\xbf\xbd\",\"group\":\"\xef\xbf\xbd\",\"kind\":"
	      "\"\xef\xbf\xbd\"}");
}

static void nobody_is_somebody_else(void **state)
{
	static const char refused[] =
		"\"message\":\"users \\\"eve\\\" is forbidden: User \\\"admin\\\" cannot "
		"impersonate resource \\\"users\\\" in API group \\\"\\\" at the cluster "
		"scope\",\"reason\":\"Forbidden\",\"details\":{\"name\":\"eve\",\"kind\":"
		"\"users\"},\"code\":403}";
	(void)state;
	check("GET /api/v1/pods", "user", "Impersonate-User: eve\r\n", "403", refused);
	check("GET /metrics", "user", "impersonate-user: eve\r\n", "403", refused);
	check("GET /api/v1/pods", "user", "Impersonate-Group: g\r\n", "403", "groups");
	check("GET /api/v1/pods", "system", "Impersonate-Uid: 1\r\n", "403",
	      "User \\\"system:fairlead\\\" cannot impersonate");
	check("GET /api/v1/pods", "", "Impersonate-User: eve\r\n", "401", "Unauthorized");
}

static void paths_without_an_api(void **state)
{
	(void)state;
	check("GET /healthz", "", "", "200", "\r\n\r\nok");
	check("GET /livez/ping", "", "", "200", "\r\n\r\nok");
	check("GET /livez/nope", "", "", "404", "404 page not found");
	check("GET /livezz", "user", "", "404", "404 page not found");
	check("POST /readyz", "", "", "405", "MethodNotAllowed");
	check("GET /readyz?verbose", "user", "", "200",
	      "[+]ping ok\n[+]store ok\n[+]data ok\nreadyz check passed\n");
	well = false;
	check("GET /readyz", "", "", "500",
	      "[+]ping ok\n[-]store failed: reason withheld\n"
	      "[-]data failed: reason withheld\nreadyz check failed\n");
	check("GET /readyz/data", "user", "", "500", "[-]data failed: its reason\n");
	check("GET /readyz/disk", "user", "", "500", "[-]disk failed: its reason\n");
	check("GET /livez", "", "", "500",
	      "[+]ping ok\n[-]store failed: reason withheld\nlivez check failed\n");
	check("GET /readyz/ping", "", "", "200", "ok");
	well = true;
	check("GET /metrics", "user", "", "200",
	      "fairlead_api_requests_total{code=\"200\",method=\"GET\"}");
	check("POST /metrics", "user", "", "405", "MethodNotAllowed");
	check("GET /nope", "user", "", "404", "404 page not found");
	check("GET /apis/coordination.k8s.io/v1", "user", "", "200", "\"name\":\"leases\"");
	check("GET /api", "user", "If-None-Match: \"x\"\r\n", "200", "Etag: \"");
	check("POST /api", "user", "", "405", "MethodNotAllowed");
}

static void read_until(int fd, struct strbuf *in, const char *text)
{
	char part[4096];
	while (strstr(in->s, text) == NULL) {
		ssize_t n = recv(fd, part, sizeof(part), 0);
		assert_true(n > 0);
		strbuf_add(in, part, (size_t)n);
	}
}

static void watches_stream(void **state)
{
	CLEANUP(strbuf_done) struct strbuf in = STRBUF_INIT;
	CLEANUP(freep) char *text = request("GET /api/v1/pods?watch=1", "user", "");
	(void)state;
	int fd = dial();
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	read_until(fd, &in, "Transfer-Encoding: chunked\r\n");
	for (unsigned i = 0; i < 3; i++) {
		char line[32];
		snprintf(line, sizeof(line), "event %u\n", i);
		pthread_mutex_lock(&stream.lock);
		stream.ready++;
		stream.wake(stream.ctx);
		pthread_mutex_unlock(&stream.lock);
		read_until(fd, &in, line);
	}
	read_until(fd, &in, "\r\n0\r\n\r\n");
	close(fd);
}

/* Without a limit they would take all connections. */
static void watches_have_a_limit(void **state)
{
	static const char line[] = "GET /api/v1/configmaps?watch=1";
	CLEANUP(freep) char *text = request(line, "user", "");
	char part[512] = "";
	(void)state;
	stream.ready = stream.said = 0;
	rig.front.max_watches = 1;
	int fd = dial();
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	assert_true(recv(fd, part, sizeof(part) - 1, 0) > 0);
	assert_non_null(strstr(part, "200 OK"));
	check(line, "user", "", "429", "\"reason\":\"TooManyRequests\"");
	check(line, "user", "", "429", "Retry-After: 1\r\n");
	check("GET /api/v1/configmaps", "user", "", "200", "by admin");
	close(fd);
	rig.front.max_watches = 0;
}

/* The body of a request without a token is never processed, however it is sent. */
static void bodies_without_a_token(void **state)
{
	(void)state;
	check("POST /api/v1/configmaps", "", "Content-Length: 99999999\r\n", "401",
	      "\"reason\":\"Unauthorized\"");
	check("POST /api/v1/configmaps", "wrong", "Expect: 100-continue\r\nContent-Length: 5\r\n",
	      "401", "Unauthorized");
	check("POST /version", "", "Content-Length: 5\r\n\r\nhello", "405", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_may_ask),
		cmocka_unit_test(calls_are_whole),
		cmocka_unit_test(what_only_the_system_writes),
		cmocka_unit_test(nobody_is_somebody_else),
		cmocka_unit_test(paths_without_an_api),
		cmocka_unit_test(watches_stream),
		cmocka_unit_test(watches_have_a_limit),
		cmocka_unit_test(bodies_without_a_token),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
