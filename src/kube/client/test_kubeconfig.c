/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading kubeconfigs: keys, merging, paths, and the errors of invalid ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "kube/client/config_priv.h"
#include "kube/client/config_test.h"
#include "kube/client/kubeconfig_priv.h"

static char err[512];

static int read_one(const char *text, const char *context, struct kube_config **ret)
{
	struct kube_config *c = kube_config_new();
	err[0] = '\0';
	int r = kube_config_read(&(struct kube_config_file){ "/d/f", slice_of(text) }, 1, context,
				 c, ERR_TEXT(err));
	if (r < 0 || ret == NULL)
		kube_config_free(c);
	else
		*ret = c;
	return r;
}

/* With a cluster and a user of these keys. */
static int read_keys(const char *cluster, const char *user, struct kube_config **ret)
{
	CLEANUP(freep)
	char *text =
		xasprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
			  "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
			  "clusters: [{name: k, cluster: {%s}}]\nusers: [{name: u, user: {%s}}]\n",
			  cluster, user);
	return read_one(text, NULL, ret);
}

/* Reads every key of a kubeconfig that the client supports. */
static void all_keys(void **state)
{
	struct kube_config *c = NULL;
	(void)state;
	assert_int_equal(read_keys("server: 'https://h:1/p//', certificate-authority: ca.pem, "
				   "tls-server-name: name, proxy-url: 'http://p:3128'",
				   "client-certificate: /a/c.pem, client-key: ../k.pem, "
				   "tokenFile: t, token: x",
				   &c),
			 0);
	assert_string_equal(kube_config_server(c), "https://h:1/p");
	assert_string_equal(kube_config_namespace(c), "default");
	assert_string_equal(c->origin, "context 'c' of /d/f");
	assert_string_equal(c->ca.path, "/d/ca.pem");
	assert_string_equal(c->tls_name, "name");
	assert_string_equal(c->proxy, "http://p:3128");
	assert_string_equal(c->cert.path, "/a/c.pem");
	assert_string_equal(c->key.path, "/d/../k.pem");
	assert_string_equal(c->token_file, "/d/t");
	assert_null(c->token.p); /* the file wins */
	kube_config_free(c);
	assert_int_equal(read_keys("server: 'https://h', insecure-skip-tls-verify: true",
				   "token: x, as: o, as-uid: '7', as-groups: [a, b]", &c),
			 0);
	assert_true(c->insecure);
	assert_string_equal(c->token.p, "x");
	assert_int_equal(c->headers.n, 4);
	assert_string_equal(c->headers.v[0], "Impersonate-User: o");
	assert_string_equal(c->headers.v[3], "Impersonate-Group: b");
	kube_config_free(c);
}

/* Data wins over the file of the same name. */
static void data(void **state)
{
	struct kube_config *c = NULL;
	(void)state;
	assert_int_equal(read_keys("server: h, certificate-authority: x, "
				   "certificate-authority-data: 'aGVs\n bG8='",
				   "client-certificate-data: YWI=, client-key-data: YWJj", &c),
			 0);
	assert_string_equal(kube_config_server(c), "https://h"); /* there is TLS to speak of */
	assert_null(c->ca.path);
	assert_string_equal(c->ca.data.p, "hello");
	assert_string_equal(c->cert.data.p, "ab");
	assert_string_equal(c->key.data.p, "abc");
	kube_config_free(c);
	assert_int_equal(read_keys("server: 'h:8080'", "", &c), 0);
	assert_string_equal(kube_config_server(c), "http://h:8080");
	kube_config_free(c);
}

static void exec_keys(void **state)
{
	struct kube_config *c = NULL;
	(void)state;
	assert_int_equal(
		read_keys("server: h",
			  "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./x, "
			  "args: [a, b], env: [{name: A, value: '1'}], installHint: hint, "
			  "interactiveMode: IfAvailable, provideClusterInfo: true}",
			  &c),
		0);
	assert_string_equal(c->exec.command, "/d/./x");
	assert_int_equal(c->exec.args.n, 2);
	assert_string_equal(c->exec.env.v[0], "A=1");
	assert_true(c->exec.cluster_info);
	assert_true(kube_config_renewable(c));
	kube_config_free(c);
	assert_int_equal(read_keys("server: h",
				   "exec: {apiVersion: client.authentication.k8s.io/v1beta1, "
				   "command: x}",
				   &c),
			 0);
	assert_string_equal(c->exec.command, "x"); /* by PATH */
	kube_config_free(c);
}

#define EXEC(keys) \
	"exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, " keys "}"

#define LONG_NAME "a23456789012345678901234567890123456789012345678901234567890"

/* A sentence names the file and the key. */
static void wrong_keys(void **state)
{
	static const struct {
		const char *cluster, *user, *says;
	} rows[] = {
		{ "", "", "/d/f: clusters 'k': server is missing" },
		{ "server: ''", "", "/d/f: clusters 'k': server is missing" },
		{ "server: 1", "", "/d/f: clusters 'k': server is not a string" },
		{ "server: 'ftp://x'", "", "/d/f: clusters 'k': server is not http or https" },
		/* libcurl would take the next word of the path for the host. */
		{ "server: '/'", "", "/d/f: clusters 'k': server names no host" },
		{ "server: 'https:///api'", "", "/d/f: clusters 'k': server names no host" },
		{ "server: ':6443'", "", "/d/f: clusters 'k': server names no host" },
		{ "server: 'https://x y'", "", "/d/f: clusters 'k': server is not a plain URL" },
		{ "server: 'https://u:p@x'", "", "/d/f: clusters 'k': server is not a plain URL" },
		{ "server: 'unix://relative/s'", "",
		  "/d/f: clusters 'k': server is not 'unix://' and the absolute path of a socket" },
		{ "server: 'unix://'", "",
		  "/d/f: clusters 'k': server is not 'unix://' and the absolute path of a socket" },
		{ "server: 'unix:///" LONG_NAME LONG_NAME "'", "",
		  "/d/f: clusters 'k': server: the path of a socket has at most 107 characters" },
		{ "server: h, certificate-authority-data: '*'", "",
		  "/d/f: clusters 'k': certificate-authority-data is not base64" },
		{ "server: h, certificate-authority-data: 'YQ'", "",
		  "/d/f: clusters 'k': certificate-authority-data is not base64" },
		{ "server: h, insecure-skip-tls-verify: 1", "",
		  "/d/f: clusters 'k': insecure-skip-tls-verify is not true or false" },
		{ "server: h, insecure-skip-tls-verify: true, certificate-authority: x", "",
		  "/d/f: clusters 'k': insecure-skip-tls-verify and a certificate authority "
		  "exclude "
		  "each other" },
		{ "server: h", "client-certificate: x", "/d/f: users 'u': client-key is missing" },
		{ "server: h",
		  "client-key-data: YQ==", "/d/f: users 'u': client-certificate is missing" },
		{ "server: h", "token: \"a\\nb\"",
		  "/d/f: users 'u': token has more than one line" },
		{ "server: h", "username: x",
		  "/d/f: users 'u': username is not supported: API servers no longer accept "
		  "passwords" },
		{ "server: h", "auth-provider: {}",
		  "/d/f: users 'u': auth-provider is not supported: use an exec plugin" },
		{ "server: h", "as-user-extra: {}",
		  "/d/f: users 'u': as-user-extra is not supported: only as, as-uid and "
		  "as-groups" },
		{ "server: h", "as: \"a\\nX: y\"",
		  "/d/f: users 'u': as is not a string of one line" },
		{ "server: h", "as-groups: a", "/d/f: users 'u': as-groups is not a short list" },
		{ "server: h", "exec: {command: x}",
		  "/d/f: users 'u': exec.apiVersion is not client.authentication.k8s.io/v1 or "
		  "v1beta1" },
		{ "server: h", EXEC("command: ''"), "/d/f: users 'u': exec.command is missing" },
		{ "server: h", "exec: {command: x, apiVersion: client.authentication.k8s.io/v1}",
		  "/d/f: users 'u': exec.interactiveMode is not Never or IfAvailable" },
		{ "server: h",
		  "exec: {command: x, apiVersion: client.authentication.k8s.io/v1, "
		  "interactiveMode: Always}",
		  "/d/f: users 'u': exec.interactiveMode is Always, but there is no terminal" },
		{ "server: h", EXEC("command: x, args: a"),
		  "/d/f: users 'u': exec.args is not a list of at most 1000" },
		{ "server: h", EXEC("command: x, args: [1]"),
		  "/d/f: users 'u': exec.args has an element that is not a string" },
		{ "server: h", EXEC("command: x, env: [{value: a}]"),
		  "/d/f: users 'u': exec.env holds a variable without a name" },
		{ "server: h", EXEC("command: x, env: {}"),
		  "/d/f: users 'u': exec.env is not a list of at most 1000" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_true(read_keys(rows[i].cluster, rows[i].user, NULL) < 0);
		assert_string_equal(err, rows[i].says);
	}
}

static void wrong_files(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "", "/d/f: current-context is not set" },
		{ "{current-context: x}", "/d/f: there is no context 'x'" },
		{ "a: [", "/d/f:2:1: while" },
		{ "{current-context: x, contexts: [{name: x, context: {cluster: N}}]}",
		  "/d/f: contexts 'x': cluster is not a string" },
		{ "[]", "/d/f: not a kubeconfig" },
		{ "{}\n---\n{}", "/d/f: more than one document" },
		{ "kind: Pod", "/d/f: kind is 'Pod', not Config" },
		{ "contexts: 1", "/d/f: contexts is not a list" },
		{ "users: [{user: {}}]", "/d/f: users[0].name is missing" },
		{ "clusters: [{name: a, cluster: 1}]", "/d/f: clusters 'a': cluster is not a map" },
		{ "users: [{name: a}, {name: a}]", "/d/f: 'a' is twice in users" },
		{ "{current-context: x, contexts: [{name: x, context: {cluster: k}}]}",
		  "/d/f: contexts 'x': there is no cluster 'k'" },
		{ "{current-context: x, contexts: [{name: x, context: {cluster: k, user: z}}], "
		  "clusters: [{name: k, cluster: {server: h}}]}",
		  "/d/f: contexts 'x': there is no user 'z'" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (read_one(rows[i].text, NULL, NULL) >= 0 ||
		    strncmp(err, rows[i].says, strlen(rows[i].says)) != 0)
			fail_msg("%s: %s", rows[i].text, err);
	}
}

/* The first file to name a thing wins, with the whole thing; each file has its own folder. */
static void merging(void **state)
{
	static const struct kube_config_file files[] = {
		{ "/a/one", { 0 } },
		{ "/b/two", { 0 } },
		{ "/c/three", { 0 } },
	};
	static const char *const texts[] = {
		"",
		"{current-context: p, clusters: [{name: k, cluster: {server: s1}}], "
		"contexts: [{name: p, context: {cluster: k, user: u, namespace: dns}}]}",
		"{current-context: q, clusters: [{name: k, cluster: {server: s2, proxy-url: x}}], "
		"contexts: [{name: q, context: {cluster: k}}], "
		"users: [{name: u, user: {tokenFile: t}}]}",
	};
	struct kube_config_file f[3];
	struct kube_config *c = kube_config_new();
	(void)state;
	for (size_t i = 0; i < 3; i++)
		f[i] = (struct kube_config_file){ files[i].path, slice_of(texts[i]) };
	assert_int_equal(kube_config_read(f, 3, NULL, c, ERR_TEXT(err)), 0);
	assert_string_equal(c->origin, "context 'p' of /b/two");
	assert_string_equal(c->server, "http://s1");
	assert_null(c->proxy); /* nothing of the second definition */
	assert_string_equal(c->token_file, "/c/t");
	assert_string_equal(c->ns, "dns");
	kube_config_free(c);
	c = kube_config_new();
	assert_int_equal(kube_config_read(f, 3, "q", c, ERR_TEXT(err)), 0);
	assert_null(c->token_file); /* a context need not have a user */
	kube_config_free(c);
	c = kube_config_new();
	assert_int_equal(kube_config_read(f, 3, "r", c, ERR_TEXT(err)), ERR_NOTFOUND);
	assert_string_equal(err, "/b/two: there is no context 'r'");
	kube_config_free(c);
}

static void too_many(void **state)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	(void)state;
	strbuf_adds(&b, "{users: [");
	for (int i = 0; i < 2001; i++)
		strbuf_addf(&b, "{name: u%d},", i);
	strbuf_adds(&b, "]}");
	assert_int_equal(read_one(b.s, NULL, NULL), ERR_LIMIT);
	assert_string_equal(err, "/d/f: more than 2000 users");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_keys),    cmocka_unit_test(data),
		cmocka_unit_test(exec_keys),   cmocka_unit_test(wrong_keys),
		cmocka_unit_test(wrong_files), cmocka_unit_test(merging),
		cmocka_unit_test(too_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
