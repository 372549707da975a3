/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asking pods through the API server: what answers mean, which text a hash is of, who is asked. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "controller/dnsoperator/rollout/proxy_query.h"
#include "controller/dnsoperator/rollout/proxy_query_test.h"
#include "kube/test_rig.h"

#define DIGITS                                                             \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HASH "1111111111111111111111111111111111111111111111111111111111111111"

/* ---- answers ---- */

static void what_answers_mean(void **state)
{
	static const struct {
		int r, code;
		const char *reason, *body, *why; /* why NULL: reported */
	} rows[] = {
		{ 0, 200, "", DIGITS "\n", NULL },
		{ 0, 200, "", DIGITS, "not as `fairlead dns` does" },
		{ 0, 200, "", DIGITS "0\n", "not as" },
		{ 0, 200, "", "X" DIGITS, "not as" },
		{ 0, 200, "", "", "not as" },
		{ 0, 200, "", "<html>" DIGITS "\n", "not as" },
		{ ERR_LIMIT, 200, "", "", "not as" },
		{ ERR_DENIED, 403, "Forbidden", "", "deploy/rbac/dnsoperator-hosted.yaml" },
		{ ERR_DENIED, 403, "", "", "did not forward the request" },
		{ ERR_DENIED, 401, "Unauthorized", "", "credentials" },
		{ ERR_NOTFOUND, 404, "", "", "CoreDNS can be polled over DNS only" },
		{ ERR_NOTFOUND, 404, "NotFound", "", "no longer exist" },
		{ ERR_BUSY, 503, "ServiceUnavailable", "", "cannot reach port 8181" },
		{ ERR_BUSY, 503, "", "", "did not forward the request" },
		{ ERR_TIMEOUT, 0, "", "", "within 2 s" },
		{ ERR_TIMEOUT, 504, "Timeout", "", "within 2 s" },
		{ ERR_CLOSED, 0, "", "", "cannot be reached" },
		{ ERR_CONFIG, 400, "BadRequest", "", "did not forward" },
		{ ERR_INTERNAL, 500, "InternalError", "", "did not forward" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct kube_status st = { .code = rows[i].code };
		struct dnsoperator_marker_answer a;
		char running[DNSOPERATOR_PROXY_HASH_MAX];
		snprintf(st.reason, sizeof(st.reason), "%s", rows[i].reason);
		dnsoperator_proxy_read(rows[i].r, &st, slice_of(rows[i].body), running, &a);
		if (rows[i].why == NULL) {
			assert_int_equal(a.kind, DNSOPERATOR_MARKER_FOUND);
			assert_string_equal(running, DIGITS);
			assert_null(a.why);
			continue;
		}
		assert_int_equal(a.kind, DNSOPERATOR_MARKER_UNREACHABLE);
		assert_string_equal(running, "");
		if (a.why == NULL || strstr(a.why, rows[i].why) == NULL)
			fail_msg("row %zu: %s", i, a.why);
	}
}

/* ---- Corefiles ---- */

/* The hash that a server returns is tested in plugin/ready; here, that hashes are distinguished and
 * forgotten at last. */
static void texts_by_what_servers_tell(void **state)
{
	struct dnsoperator_known_corefiles t = { 0 };
	struct dnsoperator_marker_answer a = { .kind = DNSOPERATOR_MARKER_FOUND };
	char first[DNSOPERATOR_PROXY_HASH_MAX];
	(void)state;
	dnsoperator_corefiles_translate(&t, "", &a);
	assert_string_equal(a.hash, "");
	dnsoperator_corefiles_add(&t, SLICE(". {\n whoami\n"), HASH); /* no server runs it */
	assert_string_equal(t.v[0].running, "");
	dnsoperator_corefiles_add(&t, SLICE(". {\n whoami\n}\n"), HASH);
	dnsoperator_corefiles_add(&t, SLICE(". {\n whoami\n}\n"), HASH);
	assert_string_equal(t.v[1].running, "");
	memcpy(first, t.v[0].running, sizeof(first));
	assert_int_equal(strlen(first), DNSOPERATOR_PROXY_HASH_MAX - 1);
	dnsoperator_corefiles_translate(&t, first, &a);
	assert_string_equal(a.hash, HASH);
	for (int i = 1; i < DNSOPERATOR_COREFILES_MAX; i++) {
		CLEANUP(freep) char *text = xasprintf("z%d {\n whoami\n}\n", i);
		dnsoperator_corefiles_add(&t, slice_of(text), "");
		dnsoperator_corefiles_translate(&t, t.v[i].running, &a);
		assert_string_equal(a.hash, "");
	}
	dnsoperator_corefiles_translate(&t, first, &a);
	assert_string_equal(a.hash, HASH);
	dnsoperator_corefiles_add(&t, SLICE("last {\n whoami\n}\n"), "");
	dnsoperator_corefiles_translate(&t, first, &a);
	assert_int_equal(strncmp(a.hash, first, DNSOPERATOR_MARKER_HASH_MAX - 1), 0);
	assert_int_equal(strlen(a.hash), DNSOPERATOR_MARKER_HASH_MAX - 1);
	/* nothing is reported about unknown hashes */
	a = (struct dnsoperator_marker_answer){ .kind = DNSOPERATOR_MARKER_UNREACHABLE };
	dnsoperator_corefiles_translate(&t, t.v[1].running, &a);
	assert_string_equal(a.hash, "");
}

/* ---- questions ---- */

static void all_are_asked(void **state)
{
	enum { N = 30 };
	struct rig g;
	const char *names[N];
	char text[N][16];
	struct dnsoperator_proxy_answer ret[N];
	(void)state;
	rig_up(&g);
	for (size_t i = 0; i < N; i++) {
		snprintf(text[i], sizeof(text[i]), "dns-%zu", i);
		names[i] = text[i];
		fakeapi_push(g.f, &(struct fakeapi_reply){ .body = DIGITS "\n" });
	}
	dnsoperator_proxy_query(g.conn, "openshift-dns", names, N, ret);
	for (size_t i = 0; i < N; i++) {
		assert_int_equal(ret[i].ack.kind, DNSOPERATOR_MARKER_FOUND);
		assert_string_equal(ret[i].running, DIGITS);
	}
	assert_int_equal(fakeapi_requests(g.f), N);
	assert_in_range(fakeapi_connections(g.f), 1, 8);
	for (size_t i = 0; i < N; i++) {
		char want[128];
		size_t found = 0;
		snprintf(want, sizeof(want),
			 "GET /api/v1/namespaces/openshift-dns/pods/%s:8181/proxy/config ",
			 names[i]);
		for (size_t k = 0; k < N; k++)
			found += strncmp(fakeapi_request(g.f, k), want, strlen(want)) == 0;
		assert_int_equal(found, 1);
	}
	rig_down(&g);
}

/* The limit of an answer, and a silent one that costs its time and no more. */
static void long_and_silent(void **state)
{
	struct rig g;
	struct dnsoperator_proxy_answer ret[1];
	const char *name = "a";
	(void)state;
	rig_up(&g);
	fakeapi_push(g.f, &(struct fakeapi_reply){ .body = DIGITS, .repeat = 9 });
	dnsoperator_proxy_query(g.conn, "x", &name, 1, ret);
	assert_int_equal(ret[0].ack.kind, DNSOPERATOR_MARKER_UNREACHABLE);
	assert_non_null(strstr(ret[0].ack.why, "not as"));
	fakeapi_push(g.f, &(struct fakeapi_reply){ .hang_first = true });
	uint64_t begin = clock_mono_ns();
	dnsoperator_proxy_query(g.conn, "x", &name, 1, ret);
	assert_in_range(clock_mono_ns() - begin, 1900 * NS_PER_MS, 20 * NS_PER_S);
	assert_non_null(strstr(ret[0].ack.why, "within 2 s"));
	rig_down(&g);
}

/* A controller that stops polls no server any more, and does not wait. */
static void *cancel_soon(void *arg)
{
	struct rig *g = arg;
	fakeapi_request(g->f, 0);
	kube_conn_cancel(g->conn);
	return NULL;
}

static void cancelled_meanwhile(void **state)
{
	enum { N = 40 };
	struct rig g;
	const char *names[N];
	struct dnsoperator_proxy_answer ret[N];
	pthread_t t;
	(void)state;
	rig_up(&g);
	for (size_t i = 0; i < N; i++) {
		names[i] = "a";
		fakeapi_push(g.f, &(struct fakeapi_reply){ .hang_first = true });
	}
	assert_int_equal(pthread_create(&t, NULL, cancel_soon, &g), 0);
	dnsoperator_proxy_query(g.conn, "x", names, N, ret);
	pthread_join(t, NULL);
	/* those of the helpers end by their time */
	assert_in_range(fakeapi_requests(g.f), 1, 16);
	for (size_t i = 0; i < N; i++)
		assert_int_equal(ret[i].ack.kind, DNSOPERATOR_MARKER_UNREACHABLE);
	rig_down(&g);
}

static void cancelled(void **state)
{
	struct rig g;
	struct dnsoperator_proxy_answer ret[1];
	const char *name = "a";
	(void)state;
	rig_up(&g);
	kube_conn_cancel(g.conn);
	dnsoperator_proxy_query(g.conn, "x", &name, 1, ret);
	assert_int_equal(ret[0].ack.kind, DNSOPERATOR_MARKER_UNREACHABLE);
	assert_int_equal(fakeapi_requests(g.f), 0);
	rig_down(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_answers_mean), cmocka_unit_test(texts_by_what_servers_tell),
		cmocka_unit_test(all_are_asked),     cmocka_unit_test(long_and_silent),
		cmocka_unit_test(cancelled),	     cmocka_unit_test(cancelled_meanwhile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
