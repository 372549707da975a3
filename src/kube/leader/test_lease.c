/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The election's thread: acquires a free lease, reports its loss, releases it. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "kube/leader/lease.h"
#include "kube/leader/lease_test.h"
#include "kube/test_rig.h"

static const struct elect_times fast = { NS_PER_S, 300 * NS_PER_MS, 50 * NS_PER_MS };

static char *lease_json(const char *holder)
{
	return xasprintf("{\"metadata\":{\"name\":\"x\",\"namespace\":\"ns\",\"resourceVersion\":"
			 "\"7\"},\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":1}}",
			 holder);
}

static void push_lease(struct fakeapi *f, const char *holder)
{
	CLEANUP(freep) char *text = lease_json(holder);
	fakeapi_push(f, &(struct fakeapi_reply){ .body = text });
}

static _Atomic int n_errors;
static char first_error[200]; /* written before n_errors becomes 1 */

static void count_error(void *ctx, const char *text)
{
	assert_string_equal(ctx, "mine");
	assert_string_not_equal(text, "");
	if (n_errors == 0)
		snprintf(first_error, sizeof(first_error), "%s", text);
	n_errors++;
}

static _Atomic bool healthy;

static bool is_healthy(void *ctx)
{
	(void)ctx;
	return healthy;
}

static struct lease *start(struct rig *g, const char *identity)
{
	struct lease *l;
	char err[256];
	static char mine[] = "mine";
	struct lease_conf c = { .client = g->client,
				.ns = "ns",
				.name = "x",
				.identity = identity,
				.times = fast,
				.is_healthy = is_healthy,
				.on_error = count_error,
				.ctx = mine };
	n_errors = 0;
	healthy = true;
	if (lease_start(&c, &l, ERR_TEXT(err)) < 0)
		fail_msg("%s", err);
	return l;
}

static void takes_and_gives_back(void **state)
{
	struct rig g;
	(void)state;
	rig_up(&g);
	fakeapi_push(g.f, &(struct fakeapi_reply){ .status = 404 });
	/* The creation, and renewals for as long as the test takes. */
	for (int i = 0; i < 1000; i++)
		push_lease(g.f, "me");
	uint64_t before = clock_mono_ns();
	struct lease *l = start(&g, "me");
	assert_true(lease_wait(l, false));
	assert_string_equal(lease_identity(l), "me");
	uint64_t deadline = lease_deadline_ns(l);
	assert_true(deadline > before && deadline <= clock_mono_ns() + fast.renew_ns);
	assert_non_null(strstr(fakeapi_request(g.f, 1),
			       "POST /apis/coordination.k8s.io/v1/namespaces/ns/leases "));
	assert_non_null(strstr(fakeapi_request(g.f, 2), "PUT "));
	lease_stop(l);
	const char *last = fakeapi_request(g.f, fakeapi_requests(g.f) - 1);
	assert_non_null(strstr(last, "PUT /apis/coordination.k8s.io/v1/namespaces/ns/leases/x "));
	assert_non_null(strstr(last, "\"holderIdentity\":\"\""));
	assert_non_null(strstr(last, "\"resourceVersion\":\"7\""));
	rig_down(&g);
}

/* A server that stored the last renewal although its reply never arrived: the Lease has another version. */
struct newer_lease {
	_Atomic unsigned n_refused, version;
	_Atomic bool is_free;
	char body[300];
};

static void refuse_old_version(void *ctx, const char *request, struct fakeapi_reply *ret)
{
	struct newer_lease *newer = ctx;
	char ours[64];
	bool is_release = strstr(request, "\"holderIdentity\":\"\"") != NULL;
	if (is_release && newer->version == 7)
		newer->version = 8;
	snprintf(ours, sizeof(ours), "\"resourceVersion\":\"%u\"", newer->version);
	if (is_release && strstr(request, ours) == NULL) {
		newer->n_refused++;
		ret->status = 409;
	} else {
		newer->is_free = is_release;
	}
	snprintf(newer->body, sizeof(newer->body),
		 "{\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"%u\"},\"spec\":{"
		 "\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":1}}",
		 newer->version, newer->is_free ? "" : "me");
	ret->body =
		ret->status == 409 ? "{\"kind\":\"Status\",\"reason\":\"Conflict\"}" : newer->body;
}

static void gives_a_newer_version_back(void **state)
{
	static struct newer_lease newer = { .version = 7 };
	struct rig g;
	(void)state;
	rig_up(&g);
	fakeapi_set_chooser(g.f, refuse_old_version, &newer);
	struct lease *l = start(&g, "me");
	assert_true(lease_wait(l, false));
	lease_stop(l);
	assert_int_equal(newer.n_refused, 1);
	assert_true(newer.is_free);
	rig_down(&g);
}

/* A server that became silent: the loss is detected by the clock, in time. */
static void lost_by_the_clock(void **state)
{
	struct rig g;
	(void)state;
	rig_up(&g);
	push_lease(g.f, "");
	push_lease(g.f, "me");
	for (int i = 0; i < 100; i++)
		fakeapi_push(g.f, &(struct fakeapi_reply){ .hang_first = true });
	struct lease *l = start(&g, "me");
	assert_true(lease_wait(l, false));
	uint64_t deadline = lease_deadline_ns(l);
	assert_false(lease_wait(l, true));
	uint64_t now = clock_mono_ns();
	assert_true(now >= deadline && now < deadline + NS_PER_S);
	assert_true(lease_deadline_ns(l) == 0);
	lease_stop(l);
	rig_down(&g);
}

/* A leader that cannot do its work loses the lease, although the server would renew it. */
static void lost_when_not_healthy(void **state)
{
	struct rig g;
	(void)state;
	rig_up(&g);
	push_lease(g.f, "");
	for (int i = 0; i < 1000; i++)
		push_lease(g.f, "me");
	struct lease *l = start(&g, "me");
	assert_true(lease_wait(l, false));
	healthy = false;
	assert_false(lease_wait(l, true));
	size_t before = fakeapi_requests(g.f);
	assert_int_equal(usleep(3 * 50 * 1000), 0); /* three more turns: none is taken */
	assert_int_equal(fakeapi_requests(g.f), before);
	healthy = true;
	assert_true(lease_wait(l, false));
	lease_stop(l);
	rig_down(&g);
}

static void *wake_it(void *l)
{
	lease_wake(l);
	return NULL;
}

static void waits_for_its_turn_until_woken(void **state)
{
	struct rig g;
	pthread_t t;
	(void)state;
	rig_up(&g);
	/* Renewed by its holder all the time. */
	for (int i = 0; i < 1000; i++) {
		CLEANUP(freep)
		char *text = xasprintf("{\"spec\":{\"holderIdentity\":\"other\","
				       "\"leaseDurationSeconds\":1,"
				       "\"leaseTransitions\":%d}}",
				       i);
		fakeapi_push(g.f, &(struct fakeapi_reply){ .body = text });
	}
	struct lease *l = start(&g, NULL);
	assert_non_null(strchr(lease_identity(l), '_'));
	IGNORE(fakeapi_request(g.f, 1)); /* the first answer was read */
	assert_int_equal(pthread_create(&t, NULL, wake_it, l), 0);
	assert_false(lease_wait(l, false));
	assert_false(lease_wait(l, false)); /* it stays woken */
	pthread_join(t, NULL);
	assert_int_equal(n_errors, 0); /* to wait for another is none */
	size_t n = fakeapi_requests(g.f);
	lease_stop(l); /* nothing to give back */
	for (size_t i = 0; i < n; i++)
		assert_non_null(strstr(fakeapi_request(g.f, i), "GET "));
	rig_down(&g);
}

static void refusals_are_told(void **state)
{
	struct rig g;
	char err[200] = "";
	(void)state;
	rig_up(&g);
	for (int i = 0; i < 1000; i++)
		fakeapi_push(g.f,
			     &(struct fakeapi_reply){
				     .status = 403,
				     .body = "{\"kind\":\"Status\",\"code\":403,\"reason\":"
					     "\"Forbidden\",\"message\":\"no leases for you\"}" });
	struct lease *l = start(&g, "me");
	IGNORE(fakeapi_request(g.f, 1));
	assert_true(n_errors > 0);
	assert_string_equal(first_error, "lease 'x' in namespace 'ns': no leases for you");
	lease_stop(l);
	struct lease_conf bad = { .client = g.client,
				  .ns = "ns",
				  .name = "x",
				  .times = { NS_PER_S, NS_PER_S, NS_PER_S } };
	assert_int_equal(lease_start(&bad, &l, ERR_TEXT(err)), ERR_CONFIG);
	lease_stop(NULL);
	rig_down(&g);
}

/* ---- the Lease of a rival ---- */

/* A server with two Leases. */
struct two_leases {
	_Atomic bool rival_renews;
	unsigned renewals;
	_Atomic unsigned n_writes; /* of the rival's, by us */
	_Atomic bool ours[2];	   /* held by us */
	char body[300];
};

static void choose_lease(void *ctx, const char *request, struct fakeapi_reply *ret)
{
	struct two_leases *two = ctx;
	bool rival = strstr(request, "/namespaces/other/leases/original ") != NULL;
	if (strncmp(request, "PUT ", 4) == 0) {
		two->ours[rival] = strstr(request, "\"holderIdentity\":\"me\"") != NULL;
		two->n_writes += rival;
	}
	const char *holder = two->ours[rival] ? "me" : rival ? "rival-1" : "";
	if (rival && !two->ours[1] && two->rival_renews)
		two->renewals++;
	snprintf(two->body, sizeof(two->body),
		 "{\"metadata\":{\"name\":\"l\"},\"spec\":{\"holderIdentity\":\"%s\","
		 "\"leaseDurationSeconds\":1,\"leaseTransitions\":%u}}",
		 holder, two->renewals);
	ret->body = two->body;
}

static _Atomic unsigned n_rival;

static void note_rival(void *ctx, const char *holder)
{
	assert_string_equal(ctx, "mine");
	assert_string_equal(holder, "rival-1");
	n_rival++;
}

/* While the rival renews, its Lease is left alone and we do not lead; after its expiry we hold both;
 * both are given back. */
static void takes_a_rivals_lease(void **state)
{
	static struct two_leases two = { .rival_renews = true };
	static char mine[] = "mine";
	struct rig g;
	struct lease *l;
	char err[256];
	(void)state;
	rig_up(&g);
	fakeapi_set_chooser(g.f, choose_lease, &two);
	struct lease_conf c = { .client = g.client,
				.ns = "ns",
				.name = "x",
				.rival_ns = "other",
				.rival_name = "original",
				.identity = "me",
				.times = fast,
				.on_rival = note_rival,
				.ctx = mine };
	assert_int_equal(lease_start(&c, &l, ERR_TEXT(err)), 0);
	while (n_rival < 3)
		assert_int_equal(lease_deadline_ns(l), 0);
	assert_true(two.ours[0]);
	assert_int_equal(two.n_writes, 0);
	two.rival_renews = false;
	assert_true(lease_wait(l, false));
	assert_true(two.ours[0] && two.ours[1]);
	lease_stop(l);
	assert_true(!two.ours[0] && !two.ours[1]);
	rig_down(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_and_gives_back),
		cmocka_unit_test(gives_a_newer_version_back),
		cmocka_unit_test(lost_by_the_clock),
		cmocka_unit_test(lost_when_not_healthy),
		cmocka_unit_test(waits_for_its_turn_until_woken),
		cmocka_unit_test(refusals_are_told),
		cmocka_unit_test(takes_a_rivals_lease),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
