/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A Corefile in a ConfigMap: what is asked of the API, changes, deletion, 410, a start without API.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/readfile.h"
#include "corefile_source/configmap_priv.h"
#include "testing/fake_api.h"

static char dir[] = "/tmp/configmap-XXXXXX";
static char kubeconfig[64], state[64], copy[128];

static int make_dir(void **unused)
{
	(void)unused;
	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(kubeconfig, sizeof(kubeconfig), "%s/kubeconfig", dir);
	snprintf(state, sizeof(state), "%s/state", dir);
	snprintf(copy, sizeof(copy), "%s/configmap_dns_main_Corefile", state);
	return 0;
}

static int remove_dir(void **unused)
{
	char command[300];
	(void)unused;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	int r = system(command);
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
	return r;
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

#define EVENT(type, rv, data)                                                              \
	"{\"type\":\"" type "\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"," \
	"\"metadata\":{\"name\":\"main\",\"namespace\":\"dns\",\"uid\":\"u\","             \
	"\"resourceVersion\":\"" rv "\"},\"data\":{" data "}}}\n"
#define LISTED(rv)                                                                         \
	"{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"," \
	"\"metadata\":{\"resourceVersion\":\"" rv "\",\"annotations\":"                    \
	"{\"k8s.io/initial-events-end\":\"true\"}}}}\n"
#define EXPIRED                                                                       \
	"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"apiVersion\":\"v1\","  \
	"\"status\":\"Failure\",\"reason\":\"Expired\",\"code\":410,\"metadata\":{}," \
	"\"message\":\"too old\"}}\n"

/* A source of dns/main that asks `f`. */
static struct configmap *open_map(struct fakeapi *f, uint64_t wait_ns)
{
	char text[512], err[256];
	struct configmap *m;
	snprintf(text, sizeof(text),
		 "{current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], "
		 "clusters: [{name: a, cluster: {server: '%s'}}], users: [{name: a, user: {}}]}",
		 f != NULL ? fakeapi_url(f) : "http://127.0.0.1:1");
	write_file(kubeconfig, text);
	struct configmap_conf c = { .where = "dns/main",
				    .kubeconfig = kubeconfig,
				    .state_dir = state,
				    .wait_ns = wait_ns,
				    .wait_copy_ns = wait_ns,
				    .backoff_ns = NS_PER_MS };
	assert_int_equal(configmap_new(&c, &m, ERR_TEXT(err)), 0);
	assert_string_equal(configmap_name(m), "configmap:dns/main/Corefile");
	return m;
}

/* Loads until the result is the expected one: a Corefile, or an error. */
static void expect(struct configmap *m, const char *want)
{
	struct strbuf out = STRBUF_INIT;
	char why[512] = "";
	uint64_t end = clock_mono_ns() + 20 * NS_PER_S;
	for (;;) {
		int r = configmap_load(m, &out, ERR_TEXT(why));
		const char *got = r < 0 ? why : out.s;
		if (strstr(got, want) != NULL)
			break;
		if (clock_mono_ns() > end)
			fail_msg("'%s' instead of '%s'", got, want);
		struct pollfd p = { .fd = configmap_fd(m), .events = POLLIN };
		poll(&p, 1, 1000);
		configmap_changed(m);
	}
	strbuf_done(&out);
}

static void expect_file(const char *path, const char *want)
{
	struct strbuf text = STRBUF_INIT;
	assert_int_equal(readfile_path(path, 1000, 0, &text), 0);
	assert_string_equal(text.s, want);
	strbuf_done(&text);
}

static void expect_copy(struct configmap *m, const char *want)
{
	struct strbuf out = STRBUF_INIT;
	char why[256];
	assert_int_equal(configmap_last_good(m, &out, ERR_TEXT(why)), 0);
	assert_string_equal(out.s, want);
	strbuf_done(&out);
}

static void push(struct fakeapi *f, const char *body, bool hang)
{
	fakeapi_push(f, &(struct fakeapi_reply){ .body = body, .hang = hang, .close = !hang });
}

static void follows_the_object(void **unused)
{
	(void)unused;
	struct fakeapi *f = fakeapi_new(NULL);
	push(f, EVENT("ADDED", "5", "\"Corefile\":\"one\"") LISTED("5"), false);
	push(f, EVENT("MODIFIED", "6", "\"Corefile\":\"two\""), false);
	push(f, EXPIRED, false);
	push(f, EVENT("ADDED", "9", "\"Corefile\":\"three\"") LISTED("9"), false);
	push(f, EVENT("MODIFIED", "10", "\"corefile\":\"misspelt\""), false);
	push(f, EVENT("DELETED", "11", "\"corefile\":\"misspelt\""), false);
	push(f, EVENT("ADDED", "12", "\"Corefile\":\"four\""), true);
	struct configmap *m = open_map(f, 20 * NS_PER_S);
	struct strbuf out = STRBUF_INIT;
	char why[256];
	assert_int_equal(configmap_load(m, &out, ERR_TEXT(why)), 0);
	assert_true(strlen(out.s) > 0);
	expect(m, "four");
	/* One object, by name: a Role with resourceNames allows no more. */
	for (size_t i = 0; i < 7; i++)
		assert_non_null(
			strstr(fakeapi_request(f, i), "GET /api/v1/namespaces/dns/configmaps?"));
	for (size_t i = 0; i < 7; i++)
		assert_non_null(
			strstr(fakeapi_request(f, i), "fieldSelector=metadata.name%3Dmain"));
	strbuf_done(&out);
	configmap_free(m);
	fakeapi_free(f);
}

static void tells_what_is_missing(void **unused)
{
	(void)unused;
	struct fakeapi *f = fakeapi_new(NULL);
	push(f, LISTED("5"), true);
	struct configmap *m = open_map(f, 1);
	expect(m, "ConfigMap dns/main does not exist");
	configmap_free(m);
	fakeapi_free(f);

	f = fakeapi_new(NULL);
	push(f, EVENT("ADDED", "5", "\"other\":\"x\"") LISTED("5"), true);
	m = open_map(f, 1);
	expect(m, "ConfigMap dns/main has no key 'Corefile'");
	configmap_free(m);
	fakeapi_free(f);
}

/* A copy is written when a Corefile is served, and is used when the API does not answer. */
static void keeps_a_copy(void **unused)
{
	(void)unused;
	struct strbuf out = STRBUF_INIT;
	char why[256];
	struct fakeapi *f = fakeapi_new(NULL);
	push(f, EVENT("ADDED", "5", "\"Corefile\":\"good\"") LISTED("5"), true);
	struct configmap *m = open_map(f, 20 * NS_PER_S);
	assert_int_equal(configmap_last_good(m, &out, ERR_TEXT(why)), -2);
	assert_non_null(strstr(why, "no last good copy of configmap:dns/main/Corefile"));
	expect(m, "good");
	assert_int_equal(access(copy, F_OK), -1); /* not before it serves */
	configmap_accepted(m);
	expect_copy(m, "good");
	struct stat st;
	assert_int_equal(stat(copy, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	configmap_accepted(m); /* nothing to do */
	expect_file(copy, "good");
	configmap_free(m);
	fakeapi_free(f);

	/* No API: with a copy the start does not wait for long. */
	uint64_t start = clock_mono_ns();
	m = open_map(NULL, 60 * NS_PER_S);
	assert_true(configmap_load(m, &out, ERR_TEXT(why)) < 0);
	assert_non_null(strstr(why, "cannot read ConfigMap dns/main: "));
	assert_true(clock_mono_ns() - start < 20 * NS_PER_S);
	expect_copy(m, "good");
	configmap_free(m);
	strbuf_done(&out);
}

/* A folder that cannot be written to costs the copy, not the service. */
static void bears_a_bad_folder(void **unused)
{
	(void)unused;
	write_file(state, "a file");
	struct fakeapi *f = fakeapi_new(NULL);
	push(f, EVENT("ADDED", "5", "\"Corefile\":\"good\"") LISTED("5"), true);
	struct configmap *m = open_map(f, 20 * NS_PER_S);
	expect(m, "good");
	configmap_accepted(m);
	expect_file(state, "a file");
	configmap_free(m);
	fakeapi_free(f);
}

static void refuses_names(void **unused)
{
	(void)unused;
	static const char *const bad[] = { "",	      "a",	 "a/",	 "/b",	  "a/b/",
					   "a/b/c/d", "A/b",	 "a/B",	 "a/..",  "../b",
					   "a/b/..",  "a/b/c d", "a/b_", "a b/c", "a/b/%2e" };
	char err[256];
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct configmap *m;
		struct configmap_conf c = { .where = bad[i] };
		assert_int_equal(configmap_new(&c, &m, ERR_TEXT(err)), ERR_CONFIG);
		assert_non_null(strstr(err, "expected configmap:NAMESPACE/NAME[/KEY], got "));
	}
	char longest[300];
	memset(longest, 'a', sizeof(longest));
	memcpy(longest, "a/", 2);
	for (size_t n = 253; n <= 254; n++) {
		struct configmap *m;
		longest[2 + n] = '\0';
		struct configmap_conf c = { .where = longest };
		assert_int_equal(configmap_new(&c, &m, ERR_TEXT(err)), n == 253 ? 0 : ERR_CONFIG);
		if (n == 253)
			configmap_free(m);
		longest[2 + n] = 'a';
	}
}

#define IN_A_FOLDER(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_FOLDER(follows_the_object), IN_A_FOLDER(tells_what_is_missing),
		IN_A_FOLDER(keeps_a_copy),	 IN_A_FOLDER(bears_a_bad_folder),
		cmocka_unit_test(refuses_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
