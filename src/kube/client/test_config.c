/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which configuration is taken, and the pod's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <errno.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/clock_test.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "kube/test_rig.h"

#define MOUNT "/var/run/secrets/kubernetes.io/serviceaccount"
#define PEM   "-----BEGIN CERTIFICATE-----\n"

static char dir[64], err[512];

static void put(const char *name, const char *text)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", dir, name);
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void make_dirs(const char *name)
{
	CLEANUP(freep) char *cmd = xasprintf("mkdir -p %s/%s", dir, name);
	assert_int_equal(system(cmd), 0);
}

static int up(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/fairlead-config-XXXXXX");
	unsetenv("KUBECONFIG");
	unsetenv("KUBERNETES_SERVICE_HOST");
	unsetenv("KUBERNETES_SERVICE_PORT");
	return mkdtemp(dir) != NULL && setenv("HOME", dir, 1) == 0 ? 0 : -1;
}

static int down(void **state)
{
	CLEANUP(freep) char *cmd = xasprintf("rm -r %s", dir);
	(void)state;
	clock_set_source(NULL);
	return system(cmd);
}

static void put_config(const char *name, const char *server)
{
	char text[512];
	snprintf(text, sizeof(text),
		 "{current-context: a, contexts: [{name: a, context: {cluster: a}}], "
		 "clusters: [{name: a, cluster: {server: %s}}]}",
		 server);
	put(name, text);
}

static const char *loaded(const char *file)
{
	static char server[64];
	struct kube_config *c = NULL;
	err[0] = '\0';
	if (kube_config_load(file, NULL, &c, ERR_TEXT(err)) < 0)
		return err;
	snprintf(server, sizeof(server), "%s", kube_config_server(c));
	kube_config_free(c);
	return server;
}

/* The one named, $KUBECONFIG, ~/.kube/config, the pod's. */
static void order(void **state)
{
	char text[512];
	(void)state;
	assert_non_null(strstr(loaded(NULL), "there is no kubeconfig"));
	setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
	setenv("KUBERNETES_SERVICE_PORT", "443", 1);
	assert_non_null(strstr(loaded(NULL), "cannot read '" MOUNT));
	make_dirs(".kube");
	put_config(".kube/config", "home");
	assert_string_equal(loaded(NULL), "http://home");
	put_config("one", "one");
	put_config("two", "two");
	snprintf(text, sizeof(text), ":%s/none:%s/one:%s/one:%s/two:", dir, dir, dir, dir);
	setenv("KUBECONFIG", text, 1);
	assert_string_equal(loaded(NULL), "http://one");
	snprintf(text, sizeof(text), "%s/two", dir);
	assert_string_equal(loaded(text), "http://two");
	snprintf(text, sizeof(text), "%s/none", dir);
	assert_non_null(strstr(loaded(text), "/none': No such file or directory"));
	setenv("KUBECONFIG", text, 1);
	assert_non_null(strstr(loaded(NULL), "cannot read '" MOUNT)); /* none of them exists */
}

/* A missing file that the kubeconfig names is an error at start. */
static void missing_files(void **state)
{
	static const struct {
		const char *cluster, *user, *says;
	} rows[] = {
		{ "certificate-authority: none", "",
		  "certificate-authority: cannot read '@/none': No such file or directory" },
		{ "certificate-authority: empty", "",
		  "certificate-authority: '@/empty' holds no PEM 'CERTIFICATE-----'" },
		{ "certificate-authority-data: YQ==", "",
		  "certificate-authority: the data holds no PEM 'CERTIFICATE-----'" },
		{ "", "client-certificate: cert, client-key: cert",
		  "client-key: '@/cert' holds no PEM 'PRIVATE KEY-----'" },
		{ "", "tokenFile: none", "token: cannot read '@/none': No such file or directory" },
		{ "", "tokenFile: empty", "token: '@/empty' is empty" },
		{ "", "tokenFile: cert", "token: '@/cert' holds more than one line" },
	};
	char text[512], says[512], file[128];
	(void)state;
	put("empty", "\n ");
	put("cert", PEM "x\n");
	snprintf(file, sizeof(file), "%s/config", dir);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		snprintf(text, sizeof(text),
			 "{current-context: a, contexts: [{name: a, context: {cluster: a, user: "
			 "a}}], clusters: [{name: a, cluster: {server: h, %s}}], users: [{name: a, "
			 "user: {%s}}]}",
			 rows[i].cluster, rows[i].user);
		put("config", text);
		int n = snprintf(says, sizeof(says), "context 'a' of %s: ", file);
		put_folder(says + n, sizeof(says) - (size_t)n, rows[i].says, dir);
		assert_string_equal(loaded(file), says);
	}
}

/* ---- in a cluster ---- */

static uint64_t now_ns = 1000 * NS_PER_S;

static uint64_t fake_now(void)
{
	return now_ns;
}

static const struct clock_source fake_clock = { fake_now, fake_now };

static void token_is(struct kube_config *c, const char *want)
{
	CLEANUP(strbuf_done) struct strbuf t = STRBUF_INIT;
	assert_int_equal(
		kube_config_token(c, &(struct kube_token_ask){ .fresh = false, .asked_ns = 0 }, &t,
				  ERR_TEXT(err)),
		0);
	assert_string_equal(t.s, want);
}

/* As kubelet does: a new folder, and a link to it swapped in. */
static void flip(const char *to)
{
	CLEANUP(freep) char *mount = xasprintf("%s" MOUNT, dir);
	CLEANUP(freep) char *tmp = xasprintf("%s/tmp", mount);
	CLEANUP(freep) char *data = xasprintf("%s/..data", mount);
	assert_int_equal(symlink(to, tmp), 0);
	assert_int_equal(rename(tmp, data), 0);
}

static void mount(void)
{
	make_dirs("." MOUNT "/one");
	make_dirs("." MOUNT "/two");
	put("." MOUNT "/one/token", " first\n");
	put("." MOUNT "/two/token", "second");
	put("." MOUNT "/one/ca.crt", PEM);
	put("." MOUNT "/two/ca.crt", PEM PEM);
	put("." MOUNT "/namespace", "dns\n");
	flip("one");
	CLEANUP(freep)
	char *cmd = xasprintf(
		"cd %s" MOUNT " && ln -s ..data/token token && ln -s ..data/ca.crt ca.crt", dir);
	assert_int_equal(system(cmd), 0);
}

static struct kube_config *in_cluster(const char *host)
{
	struct kube_config *c = NULL;
	setenv("KUBERNETES_SERVICE_HOST", host, 1);
	setenv("KUBERNETES_SERVICE_PORT", "6443", 1);
	if (kube_config_in_cluster(dir, &c, ERR_TEXT(err)) < 0)
		fail_msg("%s", err);
	return c;
}

static void pods_own(void **state)
{
	(void)state;
	mount();
	struct kube_config *c = in_cluster("fd00::1");
	assert_string_equal(kube_config_server(c), "https://[fd00::1]:6443");
	assert_string_equal(kube_config_namespace(c), "dns");
	assert_string_equal(c->origin, "the pod's service account");
	kube_config_free(c);
	clock_set_source(&fake_clock);
	c = in_cluster("10.0.0.1");
	token_is(c, "first");
	flip("two");
	now_ns += 59 * NS_PER_S;
	token_is(c, "first"); /* at most once a minute */
	now_ns += NS_PER_S;
	token_is(c, "second");
	/* After a 401: at once, unless it was read since the request began. */
	flip("one");
	CLEANUP(strbuf_done) struct strbuf t = STRBUF_INIT;
	assert_int_equal(
		kube_config_token(c,
				  &(struct kube_token_ask){ .fresh = true, .asked_ns = now_ns - 1 },
				  &t, ERR_TEXT(err)),
		0);
	assert_string_equal(t.s, "second");
	strbuf_reset(&t);
	assert_int_equal(
		kube_config_token(c, &(struct kube_token_ask){ .fresh = true, .asked_ns = now_ns },
				  &t, ERR_TEXT(err)),
		0);
	assert_string_equal(t.s, "first");
	/* The old one stays when the new cannot be read. */
	flip("none");
	now_ns += 100 * NS_PER_S;
	token_is(c, "first");
	kube_config_free(c);
}

static void certificates_change(void **state)
{
	struct kube_tls *a = NULL, *b = NULL;
	(void)state;
	mount();
	clock_set_source(&fake_clock);
	struct kube_config *c = in_cluster("10.0.0.1");
	assert_int_equal(kube_config_tls(c, false, NULL, &a, ERR_TEXT(err)), 0);
	assert_true(strncmp(a->ca_path, "/proc/self/fd/", 14) == 0);
	assert_int_equal(access(a->ca_path, R_OK), 0);
	assert_null(a->cert_path);
	assert_false(a->system_ca);
	flip("two");
	now_ns += 299 * NS_PER_S;
	assert_int_equal(kube_config_tls(c, false, NULL, &b, ERR_TEXT(err)), 0);
	assert_ptr_equal(a, b); /* every five minutes */
	kube_tls_unref(b);
	now_ns += NS_PER_S;
	assert_int_equal(kube_config_tls(c, false, NULL, &b, ERR_TEXT(err)), 0);
	assert_ptr_not_equal(a, b);
	assert_int_equal(b->ca.n, 2 * strlen(PEM));
	assert_string_equal(a->ca.p, PEM); /* who has the old one keeps it */
	kube_tls_unref(a);
	a = b;
	/* The same bytes are no change; what cannot be read changes nothing. */
	assert_int_equal(kube_config_tls(c, true, NULL, &b, ERR_TEXT(err)), 0);
	assert_ptr_equal(a, b);
	kube_tls_unref(b);
	flip("none");
	assert_int_equal(kube_config_tls(c, true, NULL, &b, ERR_TEXT(err)), 0);
	assert_ptr_equal(a, b);
	kube_tls_unref(b);
	kube_tls_unref(a);
	kube_config_free(c);
}

static void not_in_a_pod(void **state)
{
	struct kube_config *c;
	(void)state;
	assert_int_equal(kube_config_in_cluster(dir, &c, ERR_TEXT(err)), ERR_NOTFOUND);
	assert_string_equal(err, "KUBERNETES_SERVICE_HOST is not set: this is not a pod");
	setenv("KUBERNETES_SERVICE_HOST", "x/y", 1);
	assert_int_equal(kube_config_in_cluster(dir, &c, ERR_TEXT(err)), ERR_NOTFOUND);
	setenv("KUBERNETES_SERVICE_PORT", "443", 1);
	assert_int_equal(kube_config_in_cluster(dir, &c, ERR_TEXT(err)), ERR_PARSE);
	setenv("KUBERNETES_SERVICE_HOST", "x", 1);
	setenv("KUBERNETES_SERVICE_PORT", "65536", 1);
	assert_int_equal(kube_config_in_cluster(dir, &c, ERR_TEXT(err)), ERR_PARSE);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(order),	    TEST(missing_files), TEST(pods_own), TEST(certificates_change),
		TEST(not_in_a_pod),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
