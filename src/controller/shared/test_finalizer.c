/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finalizers: those of others stay, an object that goes gets none, which is an
 * error, one that is gone is none to remove from, and one with another uid is not touched. */
#include <string.h>

#include "base/err.h"
#include "controller/shared/finalizer.h"
#include "kube/test_rig.h"

#define OURS "example.org/ours"

static const char with_other[] =
	"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\",\"namespace\":"
	"\"ns\","
	"\"uid\":\"u-1\",\"resourceVersion\":\"7\",\"finalizers\":[\"example.org/other\"]}}";
static const char with_both[] =
	"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\",\"namespace\":"
	"\"ns\","
	"\"uid\":\"u-1\",\"resourceVersion\":\"7\",\"finalizers\":[\"example.org/other\",\"" OURS
	"\"]}}";
static const char with_none[] = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
				"\"name\":\"x\",\"namespace\":\"ns\","
				"\"uid\":\"u-1\",\"resourceVersion\":\"7\"}}";
static const char deleting[] =
	"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\",\"namespace\":"
	"\"ns\","
	"\"uid\":\"u-1\",\"resourceVersion\":\"7\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"}"
	"}";

static const char deleting_with_ours[] =
	"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\",\"namespace\":"
	"\"ns\","
	"\"uid\":\"u-1\",\"resourceVersion\":\"7\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\","
	"\"finalizers\":[\"" OURS "\"]}}";

typedef int (*change_fn)(struct kube_conn *conn, const struct kube_ref *ref, const char *finalizer,
			 struct kube_status *reterr);

/* Changes the object `now`, which was read with this uid; the result, and the list that was written,
 * "" for no write. */
static void expect_result(change_fn change, const char *now, const char *uid, int result,
			  const char *wanted)
{
	struct rig g;
	rig_up(&g);
	const struct kube_ref ref = {
		.kind = api_kind_find("", "ConfigMap"), .ns = "ns", .name = "x", .uid = uid
	};
	fakeapi_push(g.f, &(struct fakeapi_reply){ .body = now });
	assert_int_equal(change(g.conn, &ref, OURS, &g.st), result);
	assert_int_equal(fakeapi_requests(g.f), wanted[0] != '\0' ? 2 : 1);
	if (wanted[0] != '\0') {
		const char *request = fakeapi_request(g.f, 1);
		assert_ptr_equal(strstr(request, "PATCH /api/v1/namespaces/ns/configmaps/x"),
				 request);
		assert_non_null(strstr(request, wanted));
		assert_non_null(strstr(request, "\"resourceVersion\":\"7\""));
	}
	rig_down(&g);
}

static void expect_change(change_fn change, const char *now, const char *wanted)
{
	expect_result(change, now, "u-1", 0, wanted);
}

static void added(void **state)
{
	(void)state;
	expect_change(finalizer_add, with_none, "\"finalizers\":[\"" OURS "\"]");
	expect_change(finalizer_add, with_other,
		      "\"finalizers\":[\"example.org/other\",\"" OURS "\"]");
	expect_change(finalizer_add, with_both, "");
}

/* What belongs to the object must not be made: nothing would remove it. */
static void too_late(void **state)
{
	(void)state;
	expect_result(finalizer_add, deleting, "u-1", ERR_GONE, "");
	expect_result(finalizer_add, with_none, "u-0", ERR_GONE, "");
	expect_result(finalizer_add, with_both, "u-0", ERR_GONE, "");
	expect_result(finalizer_add, deleting_with_ours, "u-1", 0, "");
	expect_result(finalizer_add, with_both, NULL, 0, "");
}

static void finalizer_of_the_next_object_stays(void **state)
{
	(void)state;
	expect_result(finalizer_remove, with_both, "u-0", 0, "");
}

static void removed(void **state)
{
	(void)state;
	expect_change(finalizer_remove, with_both, "\"finalizers\":[\"example.org/other\"]");
	expect_change(finalizer_remove, with_other, "");
	expect_change(finalizer_remove, with_none, "");
}

static void gone(void **state)
{
	struct rig g;
	(void)state;
	rig_up(&g);
	const struct kube_ref ref = { .kind = api_kind_find("", "ConfigMap"),
				      .ns = "ns",
				      .name = "x" };
	fakeapi_push(g.f, &(struct fakeapi_reply){ .status = 404 });
	assert_int_equal(finalizer_remove(g.conn, &ref, OURS, &g.st), 0);
	kube_status_done(&g.st);
	fakeapi_push(g.f, &(struct fakeapi_reply){ .status = 404 });
	assert_int_equal(finalizer_add(g.conn, &ref, OURS, &g.st), ERR_NOTFOUND);
	rig_down(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(added),   cmocka_unit_test(too_late),
		cmocka_unit_test(removed), cmocka_unit_test(finalizer_of_the_next_object_stays),
		cmocka_unit_test(gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
