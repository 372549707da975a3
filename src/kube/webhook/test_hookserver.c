/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Web hooks over HTTPS with managed certificates: what is asked of the API server, and that a
 * caller who trusts what was published gets an answer. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/text/base64.h"
#include "kube/test_rig.h"
#include "kube/webhook/hookserver.h"
#include "net/addr.h"
#include "net/tls.h"

static const char *const names[] = { "127.0.0.1", NULL };

static void no_more(void *ctx, const struct admission_request *req, struct admission_reply *reply)
{
	(void)ctx;
	(void)req;
	admission_refuse(reply, "no more of these");
}

static void not_yet(void *ctx, const struct admission_request *req, struct admission_reply *reply)
{
	(void)ctx;
	(void)req;
	admission_refuse(reply, "none of these yet");
}

static const struct admission_hook hooks[] = {
	{ ADMISSION_VALIDATE, "pods.example.org", "", "Pod", .review = no_more },
	{ ADMISSION_VALIDATE, "late.example.org", "", "Pod", .review = not_yet },
	{ ADMISSION_VALIDATE, "late.example.org", "", "Node", .review = not_yet },
};

static struct hookserver_conf conf_of(struct rig *g)
{
	return (struct hookserver_conf){ .listen = "127.0.0.1:0",
					 .hooks = hooks,
					 .n_hooks = ARRAY_LEN(hooks),
					 .client = g->client,
					 .ns = "ns",
					 .secret = "s",
					 .registration = "r",
					 .certs = { .names = names },
					 .interval_ns = 3600 * NS_PER_S };
}

#define REGISTRATION                                                               \
	"{\"metadata\":{\"resourceVersion\":\"1\"},\"webhooks\":[{\"name\":\"a\"," \
	"\"clientConfig\":{}},"                                                    \
	"{\"name\":\"b\",\"clientConfig\":{}}]}"

/* A missing Secret, one registration that exists and one that does not. */
static void push_first_start(struct fakeapi *f)
{
	fakeapi_push(f, &(struct fakeapi_reply){ .status = 404 });
	fakeapi_push(f, &(struct fakeapi_reply){ .status = 201 });
	fakeapi_push(f, &(struct fakeapi_reply){ .body = REGISTRATION });
	fakeapi_push(f, &(struct fakeapi_reply){ .status = 200 });
	fakeapi_push(f, &(struct fakeapi_reply){ .status = 404 });
}

static json_t *body_of(struct fakeapi *f, size_t i)
{
	json_t *v = json_loads(strstr(fakeapi_request(f, i), "\r\n\r\n") + 4, 0, NULL);
	assert_non_null(v);
	return v;
}

/* One POST by a caller who trusts the PEM file; the answer. */
static void post(uint16_t port, const char *ca, const char *path, const char *body,
		 struct strbuf *out)
{
	struct net_tls_cred *cred;
	struct net_tls *tls;
	union net_addr a;
	char err[256], buf[4096];
	CLEANUP(freep)
	char *req = xasprintf("POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
			      "Content-Length: %zu\r\n\r\n%s",
			      path, strlen(body), body);
	assert_int_equal(net_addr_parse(SLICE("127.0.0.1:0"), &a), 0);
	net_addr_set_port(&a, port);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, &a.sa, net_addr_len(&a)), 0);
	assert_int_equal(
		net_tls_client_cred(&(struct net_tls_files){ .ca = ca }, &cred, ERR_TEXT(err)), 0);
	assert_int_equal(net_tls_connect(cred, fd, "127.0.0.1", NULL, NULL, &tls), 0);
	assert_int_equal(net_tls_handshake(tls), 0);
	assert_int_equal(net_tls_send(tls, req, strlen(req)), strlen(req));
	for (ssize_t n; (n = net_tls_recv(tls, buf, sizeof(buf))) > 0;)
		strbuf_add(out, buf, (size_t)n);
	net_tls_free(tls);
	net_tls_cred_unref(cred);
	close(fd);
}

static void write_file(const char *path, struct slice text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && write(fd, text.p, text.n) == (ssize_t)text.n);
	close(fd);
}

static void wait_ready(const struct hookserver *s)
{
	uint64_t end = clock_mono_ns() + 20 * NS_PER_S;
	while (!hookserver_is_ready(s)) {
		assert_true(clock_mono_ns() < end);
		poll(NULL, 0, 1);
	}
}

#define REVIEW_OF(kind)                                                                      \
	"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{" \
	"\"uid\":\"u\",\"operation\":\"CREATE\",\"kind\":{\"group\":\"\",\"kind\":\"" kind   \
	"\"},\"object\":{}}}"

/* A path asks the hooks that it names, or all of the kind. */
static void check_paths(uint16_t port, const char *ca)
{
	static const struct {
		const char *path, *body, *status, *says;
	} rows[] = {
		{ "/validate", REVIEW_OF("Pod"), "200 ", "no more of these" },
		{ "/validate/pods.example.org", REVIEW_OF("Pod"), "200 ", "no more of these" },
		{ "/validate/late.example.org", REVIEW_OF("Pod"), "200 ", "none of these yet" },
		{ "/validate/late.example.org", REVIEW_OF("Node"), "200 ", "none of these yet" },
		{ "/validate/pods.example.org", REVIEW_OF("Node"), "400 ", "no hook for kind" },
		{ "/validate/other.example.org", REVIEW_OF("Pod"), "404 ", "" },
		{ "/mutate/pods.example.org", REVIEW_OF("Pod"), "404 ", "" },
		{ "/mutate", REVIEW_OF("Pod"), "400 ", "no hook for kind" },
		{ "/mutate", "{}", "400 ", "not an AdmissionReview" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf answer = STRBUF_INIT;
		post(port, ca, rows[i].path, rows[i].body, &answer);
		if (strstr(answer.s, rows[i].status) == NULL ||
		    strstr(answer.s, rows[i].says) == NULL)
			fail_msg("%s: %s", rows[i].path, answer.s);
	}
}

static void first_start(void **state)
{
	CLEANUP(strbuf_done) struct strbuf bundle = STRBUF_INIT;
	char ca[] = "/tmp/test_hookserver.XXXXXX", err[300] = "";
	struct hookserver *s;
	struct rig g;
	(void)state;
	rig_up(&g);
	push_first_start(g.f);
	struct hookserver_conf c = conf_of(&g);
	if (hookserver_start(&c, &s, ERR_TEXT(err)) < 0)
		fail_msg("%s", err);
	wait_ready(s);
	assert_non_null(strstr(fakeapi_request(g.f, 1), "POST /api/v1/namespaces/ns/secrets "));
	json_t *secret = body_of(g.f, 1), *patch = body_of(g.f, 3);
	/* Both hooks of the registration trust what the Secret says, locked by its version. */
	assert_string_equal(api_get_string(patch, "webhooks[0].clientConfig.caBundle"),
			    api_get_string(secret, "data[ca.crt]"));
	assert_string_equal(api_get_string(patch, "webhooks[1].clientConfig.caBundle"),
			    api_get_string(secret, "data[ca.crt]"));
	assert_string_equal(api_resource_version(patch), "1");
	assert_int_equal(base64_decode(&bundle, slice_of(api_get_string(secret, "data[ca.crt]"))),
			 0);
	close(mkstemp(ca));
	write_file(ca, strbuf_slice(&bundle));
	check_paths(hookserver_port(s), ca);
	hookserver_stop(s);
	unlink(ca);
	json_decref(secret);
	json_decref(patch);
	rig_down(&g);
}

/* Keys stay in the program's own cluster; the CA is written to the cluster that calls the hooks. */
static void secret_apart(void **state)
{
	char err[300] = "";
	struct hookserver *s;
	struct rig own, other;
	(void)state;
	rig_up(&own);
	rig_up(&other);
	fakeapi_push(own.f, &(struct fakeapi_reply){ .status = 404 });
	fakeapi_push(own.f, &(struct fakeapi_reply){ .status = 201 });
	fakeapi_push(other.f, &(struct fakeapi_reply){ .body = REGISTRATION });
	fakeapi_push(other.f, &(struct fakeapi_reply){ .status = 200 });
	fakeapi_push(other.f, &(struct fakeapi_reply){ .status = 404 });
	struct hookserver_conf c = conf_of(&other);
	c.secret_client = own.client;
	if (hookserver_start(&c, &s, ERR_TEXT(err)) < 0)
		fail_msg("%s", err);
	wait_ready(s);
	assert_non_null(strstr(fakeapi_request(own.f, 1), "POST /api/v1/namespaces/ns/secrets "));
	json_t *secret = body_of(own.f, 1), *patch = body_of(other.f, 1);
	assert_string_equal(api_get_string(patch, "webhooks[0].clientConfig.caBundle"),
			    api_get_string(secret, "data[ca.crt]"));
	hookserver_stop(s);
	assert_int_equal(fakeapi_requests(own.f), 2);
	assert_int_equal(fakeapi_requests(other.f), 3);
	json_decref(secret);
	json_decref(patch);
	rig_down(&own);
	rig_down(&other);
}

/* Another replica makes the Secret at the same time: what it made counts. */
static void another_was_first(void **state)
{
	char err[300] = "";
	struct hookserver *s;
	struct hookcert h;
	struct rig g;
	(void)state;
	rig_up(&g);
	hookcert_init(&h);
	struct hookserver_conf c = conf_of(&g);
	assert_int_equal(hookcert_plan(&h, &c.certs, clock_wall_ns() / NS_PER_S, ERR_TEXT(err)), 1);
	json_t *secret = json_object();
	hookcert_store(&h, secret);
	CLEANUP(freep) char *text = json_dumps(secret, 0);
	fakeapi_push(g.f, &(struct fakeapi_reply){ .status = 404 });
	fakeapi_push(g.f, &(struct fakeapi_reply){
				  .status = 409,
				  .body = "{\"kind\":\"Status\",\"code\":409,\"reason\":"
					  "\"AlreadyExists\"}" });
	fakeapi_push(g.f, &(struct fakeapi_reply){ .body = text });
	fakeapi_push(g.f, &(struct fakeapi_reply){ .status = 404 });
	fakeapi_push(g.f, &(struct fakeapi_reply){ .status = 404 });
	if (hookserver_start(&c, &s, ERR_TEXT(err)) < 0)
		fail_msg("%s", err);
	wait_ready(s);
	assert_int_equal(fakeapi_requests(g.f), 5); /* nothing was written over it */
	hookserver_stop(s);
	hookcert_done(&h);
	json_decref(secret);
	rig_down(&g);
}

/* An API server that does not answer: the start does not wait for it, nor does the end. */
static void silent_server(void **state)
{
	char err[300] = "";
	struct hookserver *s;
	struct rig g;
	(void)state;
	rig_up(&g);
	fakeapi_push(g.f, &(struct fakeapi_reply){ .hang_first = true });
	struct hookserver_conf c = conf_of(&g);
	uint64_t start = clock_mono_ns();
	assert_int_equal(hookserver_start(&c, &s, ERR_TEXT(err)), 0);
	assert_true(hookserver_port(s) != 0);
	IGNORE(fakeapi_request(g.f, 0)); /* it was asked, and hangs */
	assert_false(hookserver_is_ready(s));
	hookserver_stop(s);
	assert_true(clock_mono_ns() - start < 30 * NS_PER_S); /* a request's limit is 60 s */
	rig_down(&g);
}

static sem_t error_seen;
static char last_error[300];

static void keep_error(void *ctx, const char *text)
{
	(void)ctx;
	if (last_error[0] != '\0')
		return;
	snprintf(last_error, sizeof(last_error), "%s", text);
	sem_post(&error_seen);
}

static void refusals_are_told(void **state)
{
	char err[300] = "";
	struct hookserver *s;
	struct rig g;
	(void)state;
	rig_up(&g);
	for (int i = 0; i < 50; i++)
		fakeapi_push(g.f,
			     &(struct fakeapi_reply){ .status = 403,
						      .body = "{\"kind\":\"Status\",\"code\":403,"
							      "\"message\":\"no secrets\"}" });
	struct hookserver_conf c = conf_of(&g);
	c.on_error = keep_error;
	assert_int_equal(sem_init(&error_seen, 0, 0), 0);
	assert_int_equal(hookserver_start(&c, &s, ERR_TEXT(err)), 0);
	assert_int_equal(sem_wait(&error_seen), 0);
	assert_non_null(strstr(last_error, "no secrets"));
	assert_false(hookserver_is_ready(s));
	hookserver_stop(s);
	c.cert_file = "/nonexistent/cert";
	c.key_file = "/nonexistent/key";
	assert_int_equal(hookserver_start(&c, &s, ERR_TEXT(err)), -ENOENT);
	assert_non_null(strstr(err, "/nonexistent/cert"));
	hookserver_stop(NULL);
	rig_down(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_start),	     cmocka_unit_test(secret_apart),
		cmocka_unit_test(another_was_first), cmocka_unit_test(silent_server),
		cmocka_unit_test(refusals_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
