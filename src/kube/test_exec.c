/* Exec plugins: what they are told, what they say, and those that fail or never end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "kube/config_priv.h"

#define V1   "client.authentication.k8s.io/v1"
#define CRED "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":"

static char err[512];

static struct kube_config *config_for(const char *script)
{
	struct kube_config *c = kube_config_new();
	c->server = xstrdup("https://h");
	c->origin = xstrdup("here");
	c->exec.command = xstrdup("sh");
	c->exec.api_version = xstrdup(V1);
	c->exec.hint = xstrdup("");
	vec_push(&c->exec.args, xstrdup("-c"));
	vec_push(&c->exec.args, xstrdup(script));
	return c;
}

/* The token that a script gives, or its error in `err`. */
static int token_of(const char *script, struct strbuf *out)
{
	struct kube_config *c = config_for(script);
	c->exec.cluster_info = true;
	vec_push(&c->exec.env, xstrdup("MY=first"));
	vec_push(&c->exec.env, xstrdup("MY=last"));
	err[0] = '\0';
	int r = kube_config_token(c, false, 0, out, err, sizeof(err));
	kube_config_free(c);
	return r;
}

static void runs(void **state)
{
	CLEANUP(strbuf_done) struct strbuf t = STRBUF_INIT;
	(void)state;
	assert_int_equal(token_of("echo '" CRED "{\"token\":\"'$MY'\"}}'", &t), 0);
	assert_string_equal(t.s, "last");
	strbuf_reset(&t);
	/* It gets an ExecCredential, no input and no terminal. */
	assert_int_equal(token_of("test -z \"$(cat)\" && test ! -t 0 || exit 3; "
				  "case $KUBERNETES_EXEC_INFO in "
				  "'{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
				  "\",\"spec\":{\"interactive\":false,\"cluster\":{\"server\":"
				  "\"https://h\"}}}') echo '" CRED "{\"token\":\"ok\"}}';; esac",
				  &t),
			 0);
	assert_string_equal(t.s, "ok");
}

static void fails(void **state)
{
	static const struct {
		const char *script;
		int code;
		const char *says;
	} rows[] = {
		{ "echo log in first >&2; echo more >&2; exit 4", ERR_CLOSED,
		  "here: exec plugin 'sh' ended with status 4: log in first" },
		{ "kill -9 $$", ERR_CLOSED, "here: exec plugin 'sh' died of signal 9" },
		{ "echo s3cret", ERR_PARSE,
		  "here: exec plugin 'sh': what it printed is not an ExecCredential" },
		{ "head -c 1100000 /dev/zero", ERR_LIMIT,
		  "here: exec plugin 'sh': limit exceeded" },
	};
	CLEANUP(strbuf_done) struct strbuf t = STRBUF_INIT;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(token_of(rows[i].script, &t), rows[i].code);
		assert_string_equal(err, rows[i].says);
	}
	assert_int_equal(t.n, 0);
}

static void is_not_there(void **state)
{
	struct kube_config *c = config_for("");
	CLEANUP(strbuf_done) struct strbuf t = STRBUF_INIT;
	(void)state;
	free(c->exec.command);
	free(c->exec.hint);
	c->exec.command = xstrdup("/nonexistent/plugin");
	c->exec.hint = xstrdup("Install it");
	assert_true(kube_config_token(c, false, 0, &t, err, sizeof(err)) < 0);
	assert_string_equal(err, "here: cannot run exec plugin '/nonexistent/plugin': "
				 "No such file or directory. Install it");
	kube_config_free(c);
}

/* With all that it started. */
static void never_ends(void **state)
{
	struct kube_config *c = config_for("sleep 1000 & sleep 1000");
	CLEANUP(strbuf_done) struct strbuf t = STRBUF_INIT;
	(void)state;
	kube_config_set_times(c, &(struct kube_config_times){ .exec_ns = 50 * NS_PER_MS });
	uint64_t start = clock_mono_ns();
	assert_int_equal(kube_config_token(c, false, 0, &t, err, sizeof(err)), ERR_TIMEOUT);
	assert_true(clock_mono_ns() - start < 20 * NS_PER_S);
	assert_non_null(strstr(err, "was killed"));
	kube_config_free(c);
}

static uint64_t wall;

static uint64_t fake_wall(void)
{
	return wall;
}

static uint64_t real_mono(void)
{
	static uint64_t t;
	return ++t;
}

/* Runs again when the credential has expired, and after a 401; the old one stays when that fails.
 */
static void expires(void **state)
{
	static const struct clock_source fake = { real_mono, fake_wall };
	char dir[] = "/tmp/fairlead-exec-XXXXXX";
	CLEANUP(strbuf_done) struct strbuf t = STRBUF_INIT;
	(void)state;
	assert_non_null(mkdtemp(dir));
	CLEANUP(freep)
	char *script = xasprintf("cd %s; test ! -e broken || exit 1; echo x >> n; echo '" CRED
				 "{\"token\":\"t'$(wc -l < "
				 "n)'\",\"expirationTimestamp\":\"1970-01-01T00:01:40Z\"}}'",
				 dir);
	struct kube_config *c = config_for(script);
	wall = 10 * NS_PER_S;
	kube_config_set_times(c, &(struct kube_config_times){ .exec_ns = UINT64_MAX / 2 });
	clock_set_source(&fake);
	const struct {
		uint64_t wall_s;
		bool fresh, since;
		const char *token;
	} rows[] = {
		{ 10, false, false, "t1" },  { 99, false, false, "t1" },
		{ 100, false, false, "t2" }, /* expired */
		{ 50, false, false, "t2" },  { 50, true, true, "t3" },
		{ 50, true, false, "t3" }, /* somebody else has asked meanwhile */
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		wall = rows[i].wall_s * NS_PER_S;
		uint64_t asked = rows[i].since ? clock_mono_ns() : 1;
		strbuf_reset(&t);
		assert_int_equal(kube_config_token(c, rows[i].fresh, asked, &t, err, sizeof(err)),
				 0);
		assert_string_equal(t.s, rows[i].token);
	}
	clock_set_source(NULL);
	CLEANUP(freep) char *cmd = xasprintf("touch %s/broken", dir);
	CLEANUP(freep) char *rm = xasprintf("rm -r %s", dir);
	assert_int_equal(system(cmd), 0);
	strbuf_reset(&t);
	kube_config_set_times(c, &(struct kube_config_times){ 0 });
	assert_int_equal(kube_config_token(c, true, UINT64_MAX, &t, err, sizeof(err)), 0);
	assert_string_equal(t.s, "t3");
	kube_config_free(c);
	assert_int_equal(system(rm), 0);
}

static void says(void **state)
{
	static const struct {
		const char *text, *says; /* NULL: taken */
	} rows[] = {
		{ CRED "{\"token\":\"a\"}}", NULL },
		{ CRED "{\"clientCertificateData\":\"c\",\"clientKeyData\":\"k\"}}", NULL },
		{ CRED "{}}", "status has neither a token nor a certificate" },
		{ CRED "{\"clientCertificateData\":\"c\"}}",
		  "status has only one of clientCertificateData and clientKeyData" },
		{ CRED "{\"token\":\"a\\nb\"}}", "status.token holds a line end" },
		{ CRED "{\"token\":\"a\",\"expirationTimestamp\":\"soon\"}}",
		  "status.expirationTimestamp is not a time" },
		{ "{\"kind\":\"ExecCredential\",\"apiVersion\":\"v2\"}",
		  "the apiVersion of what it printed is not the one asked for" },
		{ "{\"kind\":\"Pod\"}", "what it printed is not an ExecCredential" },
		{ "", "what it printed is not an ExecCredential" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct kube_exec_cred c = { 0 };
		int r = kube_exec_parse(slice_of(rows[i].text), V1, &c, err, sizeof(err));
		assert_int_equal(r, rows[i].says == NULL ? 0 : ERR_PARSE);
		if (r < 0)
			assert_string_equal(err, rows[i].says);
		kube_exec_cred_done(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs),		cmocka_unit_test(fails),
		cmocka_unit_test(is_not_there), cmocka_unit_test(never_ends),
		cmocka_unit_test(expires),	cmocka_unit_test(says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
