/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A heartbeat: creates its Lease, renews it, writes over conflicts, and is silent while the program
 * does not work. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kube/leader/heartbeat.h"
#include "kube/test_rig.h"

#define LEASE_PATH "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
#define KNOWN                                                                               \
	"{\"metadata\":{\"name\":\"beat\",\"namespace\":\"ns\",\"resourceVersion\":\"7\"}," \
	"\"spec\":{\"holderIdentity\":\"other\",\"strategy\":\"kept\"}}"

static _Atomic bool works;
static _Atomic unsigned n_asked, n_errors;
static char first_error[200]; /* written before n_errors becomes 1 */

static bool is_working(void *ctx)
{
	(void)ctx;
	n_asked++;
	return works;
}

static void note_error(void *ctx, const char *text)
{
	(void)ctx;
	if (n_errors == 0)
		snprintf(first_error, sizeof(first_error), "%s", text);
	n_errors++;
}

static struct heartbeat *start(struct rig *rig)
{
	struct heartbeat_conf conf = { .client = rig->client,
				       .ns = "ns",
				       .name = "beat",
				       .holder = "us",
				       .interval_ns = NS_PER_S,
				       .is_working = is_working,
				       .on_error = note_error };
	struct heartbeat *heartbeat;
	char err[256];
	n_asked = n_errors = 0;
	if (heartbeat_start(&conf, &heartbeat, ERR_TEXT(err)) < 0)
		fail_msg("%s", err);
	return heartbeat;
}

static void expect_beat(struct rig *rig, size_t index, const char *method)
{
	const char *request = fakeapi_request(rig->f, index);
	if (strstr(request, method) == NULL)
		fail_msg("%s", request);
	assert_non_null(strstr(request, "\"holderIdentity\":\"us\""));
	assert_non_null(strstr(request, "\"leaseDurationSeconds\":1"));
	assert_non_null(strstr(request, "\"renewTime\":\""));
}

static void creates_and_renews(void **state)
{
	struct rig g;
	(void)state;
	rig_up(&g);
	works = true;
	fakeapi_push(g.f, &(struct fakeapi_reply){ .status = 404 });
	fakeapi_push(g.f, &(struct fakeapi_reply){ .status = 201, .body = KNOWN });
	fakeapi_push(g.f, &(struct fakeapi_reply){ .body = KNOWN });
	struct heartbeat *heartbeat = start(&g);
	assert_non_null(strstr(fakeapi_request(g.f, 0), "GET " LEASE_PATH "/beat "));
	expect_beat(&g, 1, "POST " LEASE_PATH " ");
	expect_beat(&g, 2, "PUT " LEASE_PATH "/beat ");
	assert_non_null(strstr(fakeapi_request(g.f, 2), "\"resourceVersion\":\"7\""));
	assert_non_null(strstr(fakeapi_request(g.f, 2), "\"strategy\":\"kept\""));
	heartbeat_stop(heartbeat);
	assert_int_equal(n_errors, 0);
	rig_down(&g);
}

/* Another process wrote it: it is read again, and written at once. */
static void conflict_is_no_pause(void **state)
{
	struct rig g;
	(void)state;
	rig_up(&g);
	works = true;
	fakeapi_push(g.f, &(struct fakeapi_reply){ .body = KNOWN });
	fakeapi_push(g.f, &(struct fakeapi_reply){ .status = 409 });
	fakeapi_push(g.f, &(struct fakeapi_reply){ .body = KNOWN });
	struct heartbeat *heartbeat = start(&g);
	expect_beat(&g, 3, "PUT " LEASE_PATH "/beat ");
	assert_int_equal(n_asked, 1);
	heartbeat_stop(heartbeat);
	assert_int_equal(n_errors, 0);
	rig_down(&g);
}

static void no_beat_without_work(void **state)
{
	struct rig g;
	(void)state;
	rig_up(&g);
	works = false;
	struct heartbeat *heartbeat = start(&g);
	while (n_asked < 2)
		sched_yield();
	assert_int_equal(fakeapi_requests(g.f), 0);
	works = true;
	assert_non_null(strstr(fakeapi_request(g.f, 0), "GET "));
	heartbeat_stop(heartbeat);
	rig_down(&g);
}

static void refusals_are_reported(void **state)
{
	struct rig g;
	(void)state;
	rig_up(&g);
	works = true;
	fakeapi_push(g.f, &(struct fakeapi_reply){
				  .status = 403,
				  .body = "{\"kind\":\"Status\",\"code\":403,\"reason\":"
					  "\"Forbidden\",\"message\":\"not yours\"}" });
	struct heartbeat *heartbeat = start(&g);
	while (n_errors == 0)
		sched_yield();
	assert_string_equal(first_error, "heartbeat lease 'beat' in namespace 'ns': not yours");
	heartbeat_stop(heartbeat);
	heartbeat_stop(NULL);
	rig_down(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(creates_and_renews),
		cmocka_unit_test(conflict_is_no_pause),
		cmocka_unit_test(no_beat_without_work),
		cmocka_unit_test(refusals_are_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
