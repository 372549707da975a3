/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exec plugins: their input, their output, and plugins that fail or never end. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
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
#include "base/clock_test.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "kube/client/config_priv.h"
#include "kube/client/config_test.h"
#include "kube/client/credential_priv.h"
#include "kube/client/exec_test.h"

#define V1   "client.authentication.k8s.io/v1"
#define CRED "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":"

static char err[512];
static const struct kube_token_ask usual = { 0 };

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
	int r = kube_config_token(c, &usual, out, ERR_TEXT(err));
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
		  "here: exec plugin 'sh': its output is not an ExecCredential" },
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
	assert_true(kube_config_token(c, &usual, &t, ERR_TEXT(err)) < 0);
	assert_string_equal(err, "here: cannot run exec plugin '/nonexistent/plugin': "
				 "No such file or directory. Install it");
	kube_config_free(c);
}

/* A pipe whose write end a script inherits, with all that it starts: its end is theirs. */
struct leash {
	int r, w;
	char script[128];
};

static void leash_up(struct leash *l, const char *then)
{
	int fd[2];
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(fcntl(fd[0], F_SETFD, FD_CLOEXEC), 0);
	l->r = fd[0];
	l->w = fd[1];
	assert_true(l->w <= 9); /* sh knows no higher ones */
	snprintf(l->script, sizeof(l->script), "printf x >&%d; %s", l->w, then);
}

static void leash_wait_started(struct leash *l)
{
	char c;
	assert_int_equal(read(l->r, &c, 1), 1);
	close(l->w);
}

static void leash_wait_all_dead(struct leash *l)
{
	char c;
	assert_int_equal(read(l->r, &c, 1), 0);
	close(l->r);
}

/* Killed with all that it started, also when the first of them has ended. */
static void never_ends(void **state)
{
	static const char *const scripts[] = { "sleep 1000 & sleep 1000", "sleep 1000 &" };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		CLEANUP(strbuf_done) struct strbuf t = STRBUF_INIT;
		struct leash l;
		leash_up(&l, scripts[i]);
		struct kube_config *c = config_for(l.script);
		kube_config_set_times(c, &(struct kube_config_times){ .exec_ns = 300 * NS_PER_MS });
		uint64_t start = clock_mono_ns();
		assert_int_equal(kube_config_token(c, &usual, &t, ERR_TEXT(err)), ERR_TIMEOUT);
		assert_true(clock_mono_ns() - start < 20 * NS_PER_S);
		assert_non_null(strstr(err, "was killed"));
		leash_wait_started(&l);
		leash_wait_all_dead(&l);
		kube_config_free(c);
	}
}

struct asker {
	struct kube_config *c;
	_Atomic bool stop;
	pthread_t thread;
	char err[256];
};

static void *ask(void *ctx)
{
	struct asker *a = ctx;
	CLEANUP(strbuf_done) struct strbuf t = STRBUF_INIT;
	const struct kube_token_ask how = { .stop = &a->stop };
	return (void *)(intptr_t)kube_config_token(a->c, &how, &t, ERR_TEXT(a->err));
}

static int stop(struct asker *a)
{
	void *r;
	atomic_store(&a->stop, true);
	kube_config_wake(a->c);
	pthread_join(a->thread, &r);
	return (int)(intptr_t)r;
}

/* Two wait for one plugin: each is let go when it wants to, and the plugin dies with the one that
 * had started it. */
static void nobody_wants_it(void **state)
{
	struct leash l;
	(void)state;
	leash_up(&l, "sleep 1000 & sleep 1000");
	struct kube_config *c = config_for(l.script);
	struct asker first = { .c = c }, second = { .c = c };
	pthread_create(&first.thread, NULL, ask, &first);
	leash_wait_started(&l);
	pthread_create(&second.thread, NULL, ask, &second);
	assert_int_equal(stop(&second), -ECANCELED);
	assert_int_equal(stop(&first), -ECANCELED);
	leash_wait_all_dead(&l);
	assert_string_equal(first.err, "here: exec plugin 'sh': Operation canceled");
	kube_config_free(c);
}

/* The one that ran it goes; who still wants a token runs it again. */
static void another_goes_on(void **state)
{
	struct leash l;
	(void)state;
	leash_up(&l, "sleep 1000");
	char *script = xasprintf("if printf x 2>&- >&%d; then exec sleep 1000; fi; echo '" CRED
				 "{\"token\":\"late\"}}'",
				 l.w);
	struct kube_config *c = config_for(script);
	struct asker first = { .c = c }, second = { .c = c };
	void *r;
	pthread_create(&first.thread, NULL, ask, &first);
	leash_wait_started(&l); /* and closes: the next run cannot write there */
	pthread_create(&second.thread, NULL, ask, &second);
	assert_int_equal(stop(&first), -ECANCELED);
	pthread_join(second.thread, &r);
	assert_int_equal((intptr_t)r, 0);
	leash_wait_all_dead(&l);
	free(script);
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
		assert_int_equal(
			kube_config_token(c, &(struct kube_token_ask){ rows[i].fresh, asked, NULL },
					  &t, ERR_TEXT(err)),
			0);
		assert_string_equal(t.s, rows[i].token);
	}
	clock_set_source(NULL);
	CLEANUP(freep) char *cmd = xasprintf("touch %s/broken", dir);
	CLEANUP(freep) char *rm = xasprintf("rm -r %s", dir);
	assert_int_equal(system(cmd), 0);
	strbuf_reset(&t);
	kube_config_set_times(c, &(struct kube_config_times){ 0 });
	assert_int_equal(kube_config_token(c, &(struct kube_token_ask){ true, UINT64_MAX, NULL },
					   &t, ERR_TEXT(err)),
			 0);
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
		  "the apiVersion of its output is not the requested one" },
		{ "{\"kind\":\"Pod\"}", "its output is not an ExecCredential" },
		{ "", "its output is not an ExecCredential" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct kube_exec_cred c = { 0 };
		int r = kube_exec_parse(slice_of(rows[i].text), V1, &c, ERR_TEXT(err));
		assert_int_equal(r, rows[i].says == NULL ? 0 : ERR_PARSE);
		if (r < 0)
			assert_string_equal(err, rows[i].says);
		kube_exec_cred_done(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs),
		cmocka_unit_test(fails),
		cmocka_unit_test(is_not_there),
		cmocka_unit_test(never_ends),
		cmocka_unit_test(nobody_wants_it),
		cmocka_unit_test(another_goes_on),
		cmocka_unit_test(expires),
		cmocka_unit_test(says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
