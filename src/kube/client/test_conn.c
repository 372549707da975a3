/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TLS: whom we believe, who we are, and both renewed while the program runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "kube/client/config_test.h"
#include "kube/test_rig.h"
#include "testing/testcert.h"

struct tls_rig {
	char dir[64];
	char cert[96], key[96], ca[96];
	struct testcert *tc;
	struct rig g;
};

static void tls_up(struct tls_rig *t)
{
	memset(t, 0, sizeof(*t));
	snprintf(t->dir, sizeof(t->dir), "/tmp/fairlead-conn-XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	t->tc = testcert_new(t->dir);
	testcert_make(t->tc, "server", "127.0.0.1");
	testcert_make(t->tc, "named", "kubernetes.default.svc");
	testcert_make(t->tc, "client", "client");
	snprintf(t->cert, sizeof(t->cert), "%s/server.pem", t->dir);
	snprintf(t->key, sizeof(t->key), "%s/server.key", t->dir);
	snprintf(t->ca, sizeof(t->ca), "%s/ca.pem", t->dir);
}

/* A command of the shell; @ is the folder. */
static void run(const struct tls_rig *t, const char *command)
{
	char cmd[512];
	put_folder(cmd, sizeof(cmd), command, t->dir);
	assert_int_equal(system(cmd), 0);
}

static void tls_down(struct tls_rig *t)
{
	testcert_free(t->tc);
	run(t, "rm -r @");
}

/* @ in the keys is the folder. */
static void connect_with(struct tls_rig *t, const char *cluster, const char *user)
{
	char text[2048], c[512], u[512], err[512];
	struct kube_config *conf = kube_config_new();
	put_folder(c, sizeof(c), cluster, t->dir);
	put_folder(u, sizeof(u), user, t->dir);
	snprintf(text, sizeof(text),
		 "{current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], "
		 "clusters: [{name: a, cluster: {server: '%s', %s}}], users: [{name: a, user: "
		 "{%s}}]}",
		 fakeapi_url(t->g.f), c, u);
	if (kube_config_read(&(struct kube_config_file){ "/f", slice_of(text) }, 1, NULL, conf,
			     ERR_TEXT(err)) < 0)
		fail_msg("%s", err);
	t->g.client = kube_client_new(conf);
	t->g.conn = kube_conn_new(t->g.client, ERR_TEXT(err));
}

static void disconnect(struct tls_rig *t)
{
	kube_conn_free(t->g.conn);
	kube_client_free(t->g.client);
}

static int get(struct tls_rig *t)
{
	kube_status_done(&t->g.st);
	return kube_call(t->g.conn, &(struct kube_request){ .method = "GET", .path = "/" }, NULL,
			 &t->g.st);
}

static void whom_we_believe(void **state)
{
	static const struct {
		const char *cluster;
		int result;
		const char *says;
	} rows[] = {
		{ "certificate-authority: @/ca.pem", 0, "" },
		{ "insecure-skip-tls-verify: true", 0, "" },
		/* None named: the system's, not this one. */
		{ "tls-server-name: ''", ERR_TLS, "the kubeconfig names no certificate-authority" },
		{ "certificate-authority: @/client.pem", ERR_TLS,
		  "not signed by the configured certificate-authority" },
		{ "certificate-authority: @/ca.pem, tls-server-name: kubernetes.default.svc",
		  ERR_TLS, "kubernetes.default.svc" },
	};
	struct tls_rig t;
	(void)state;
	tls_up(&t);
	t.g.f = fakeapi_new(&(struct fakeapi_tls){ t.cert, t.key, NULL });
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		connect_with(&t, rows[i].cluster, "");
		if (get(&t) != rows[i].result || strstr(t.g.st.message, rows[i].says) == NULL)
			fail_msg("%s: %s", rows[i].cluster, t.g.st.message);
		disconnect(&t);
	}
	kube_status_done(&t.g.st);
	fakeapi_free(t.g.f);
	tls_down(&t);
}

/* The name is verified, the address is connected to, and it is still what we ask for. */
static void another_name(void **state)
{
	struct tls_rig t;
	char cert[96], key[96], host[64];
	(void)state;
	tls_up(&t);
	snprintf(cert, sizeof(cert), "%s/named.pem", t.dir);
	snprintf(key, sizeof(key), "%s/named.key", t.dir);
	t.g.f = fakeapi_new(&(struct fakeapi_tls){ cert, key, NULL });
	connect_with(&t, "certificate-authority: @/ca.pem, tls-server-name: kubernetes.default.svc",
		     "");
	assert_int_equal(get(&t), 0);
	snprintf(host, sizeof(host), "\r\nHost: 127.0.0.1:%u\r\n", fakeapi_port(t.g.f));
	assert_non_null(strstr(fakeapi_request(t.g.f, 0), host));
	disconnect(&t);
	connect_with(&t, "certificate-authority: @/ca.pem", "");
	assert_int_equal(get(&t), ERR_TLS);
	disconnect(&t);
	kube_status_done(&t.g.st);
	fakeapi_free(t.g.f);
	tls_down(&t);
}

/* Who we are, by certificate; a new one means a new connection. */
static void client_certificates(void **state)
{
	struct tls_rig t;
	(void)state;
	tls_up(&t);
	t.g.f = fakeapi_new(&(struct fakeapi_tls){ t.cert, t.key, t.ca });
	connect_with(&t, "certificate-authority: @/ca.pem", "");
	assert_true(get(&t) < 0);
	disconnect(&t);
	connect_with(&t, "certificate-authority: @/ca.pem",
		     "client-certificate: @/client.pem, client-key: @/client.key");
	kube_config_set_times(kube_client_config(t.g.client),
			      &(struct kube_config_times){ .files_ns = 1 });
	size_t before = fakeapi_connections(t.g.f);
	assert_int_equal(get(&t), 0);
	assert_int_equal(get(&t), 0);
	assert_int_equal(fakeapi_connections(t.g.f), before + 1); /* read again, but the same */
	testcert_make(t.tc, "client", "client");
	assert_int_equal(get(&t), 0);
	assert_int_equal(get(&t), 0);
	assert_int_equal(fakeapi_connections(t.g.f), before + 2);
	disconnect(&t);
	kube_status_done(&t.g.st);
	fakeapi_free(t.g.f);
	tls_down(&t);
}

/* The server's CA was replaced: the file is read again as soon as a handshake fails. */
static void server_changes_its_ca(void **state)
{
	struct tls_rig t;
	(void)state;
	tls_up(&t);
	run(&t, "mkdir @/old; cp @/ca.pem @/old");
	testcert_free(t.tc);
	t.tc = testcert_new(t.dir); /* another */
	testcert_make(t.tc, "server", "127.0.0.1");
	t.g.f = fakeapi_new(&(struct fakeapi_tls){ t.cert, t.key, NULL });
	connect_with(&t, "certificate-authority: @/old/ca.pem", "");
	assert_int_equal(get(&t), ERR_TLS);
	run(&t, "cp @/ca.pem @/old");
	assert_int_equal(get(&t), 0);
	disconnect(&t);
	kube_status_done(&t.g.st);
	fakeapi_free(t.g.f);
	tls_down(&t);
}

static void put_token(struct tls_rig *t, const char *token)
{
	char cmd[128];
	snprintf(cmd, sizeof(cmd), "echo '%s' > @/token", token);
	run(t, cmd);
}

/* On 401 the token is read again, and the request repeated once. */
static void token_is_renewed(void **state)
{
	struct tls_rig t;
	(void)state;
	tls_up(&t);
	t.g.f = fakeapi_new(&(struct fakeapi_tls){ t.cert, t.key, NULL });
	connect_with(&t, "certificate-authority: @/ca.pem", "tokenFile: @/token");
	put_token(&t, "one");
	assert_int_equal(get(&t), 0);
	assert_non_null(strstr(fakeapi_request(t.g.f, 0), "\r\nAuthorization: Bearer one\r\n"));
	put_token(&t, "two");
	fakeapi_push(t.g.f, &(struct fakeapi_reply){ .status = 401 });
	assert_int_equal(get(&t), 0);
	assert_non_null(strstr(fakeapi_request(t.g.f, 1), "Bearer one\r\n"));
	assert_non_null(strstr(fakeapi_request(t.g.f, 2), "Bearer two\r\n"));
	fakeapi_push(t.g.f, &(struct fakeapi_reply){ .status = 401 });
	fakeapi_push(t.g.f, &(struct fakeapi_reply){ .status = 401 });
	assert_int_equal(get(&t), ERR_DENIED);
	assert_int_equal(fakeapi_requests(t.g.f), 5);
	disconnect(&t);
	/* One that cannot change is not asked with twice. */
	connect_with(&t, "certificate-authority: @/ca.pem", "token: three, as: other");
	fakeapi_push(t.g.f, &(struct fakeapi_reply){ .status = 401 });
	assert_int_equal(get(&t), ERR_DENIED);
	assert_int_equal(fakeapi_requests(t.g.f), 6);
	assert_non_null(strstr(fakeapi_request(t.g.f, 5), "\r\nImpersonate-User: other\r\n"));
	assert_null(strstr(t.g.st.message, "three"));
	disconnect(&t);
	/* No token at all: the error of the call has the reason. */
	run(&t, "rm @/token");
	connect_with(&t, "certificate-authority: @/ca.pem", "tokenFile: @/token");
	assert_true(get(&t) < 0);
	assert_non_null(strstr(t.g.st.message, "/token': No such file"));
	disconnect(&t);
	kube_status_done(&t.g.st);
	fakeapi_free(t.g.f);
	tls_down(&t);
}

/* A certificate of an exec plugin. */
static void exec_certificate(void **state)
{
	struct tls_rig t;
	(void)state;
	tls_up(&t);
	t.g.f = fakeapi_new(&(struct fakeapi_tls){ t.cert, t.key, t.ca });
	run(&t,
	    "/usr/bin/python3 -c \"import json; d='@'; r=lambda n: open(d+'/'+n).read(); "
	    "json.dump({'kind': 'ExecCredential', 'apiVersion': 'client.authentication.k8s.io/v1', "
	    "'status': {'clientCertificateData': r('client.pem'), 'clientKeyData': "
	    "r('client.key')}}, open(d+'/cred', 'w'))\"");
	connect_with(&t, "certificate-authority: @/ca.pem",
		     "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, "
		     "command: cat, args: [@/cred]}");
	assert_int_equal(get(&t), 0);
	assert_null(strstr(fakeapi_request(t.g.f, 0), "Authorization"));
	disconnect(&t);
	kube_status_done(&t.g.st);
	fakeapi_free(t.g.f);
	tls_down(&t);
}

static size_t anonymous_kb(void)
{
	char line[256];
	size_t kb = 0;
	FILE *f = fopen("/proc/self/status", "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "RssAnon:", 8) == 0)
			kb = strtoul(line + 8, NULL, 10);
	fclose(f);
	return kb;
}

/* An open handle costs at most 0.2 MB: 4 MB when it loads the system's certificates.
 * The server's side is in the same process and counted, too. */
static void memory_of_a_handle(void **state)
{
	enum { HANDLES = 20, MAX_KB = 200 };
	struct kube_conn *c[HANDLES];
	struct tls_rig t;
	char err[256];
	(void)state;
	tls_up(&t);
	t.g.f = fakeapi_new(&(struct fakeapi_tls){ t.cert, t.key, NULL });
	for (int insecure = 0; insecure < 2; insecure++) {
		connect_with(&t,
			     insecure ? "insecure-skip-tls-verify: true"
				      : "certificate-authority: @/ca.pem",
			     "");
		assert_int_equal(get(&t), 0);
		mem_trim(); /* what was freed before must not hide what is taken now */
		size_t before = anonymous_kb();
		for (size_t i = 0; i < HANDLES; i++) {
			c[i] = kube_conn_new(t.g.client, ERR_TEXT(err));
			assert_int_equal(
				kube_call(c[i],
					  &(struct kube_request){ .method = "GET", .path = "/" },
					  NULL, NULL),
				0);
		}
		size_t each = (anonymous_kb() - before) / HANDLES;
		print_message("%s: %zu KB a handle, with its server\n",
			      insecure ? "insecure" : "with a CA", each);
		if (!SANITIZED)
			assert_true(each <= MAX_KB);
		for (size_t i = 0; i < HANDLES; i++)
			kube_conn_free(c[i]);
		disconnect(&t);
	}
	fakeapi_free(t.g.f);
	tls_down(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whom_we_believe),     cmocka_unit_test(another_name),
		cmocka_unit_test(client_certificates), cmocka_unit_test(server_changes_its_ca),
		cmocka_unit_test(token_is_renewed),    cmocka_unit_test(exec_certificate),
		cmocka_unit_test(memory_of_a_handle),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
