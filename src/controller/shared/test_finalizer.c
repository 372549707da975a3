/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finalizers: those of others stay, an object that goes gets none, one that is gone is no error. */
#include <string.h>

#include "base/err.h"
#include "controller/shared/finalizer.h"
#include "kube/test_rig.h"

#define OURS "example.org/ours"

static const char with_other[] =
	"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\",\"namespace\":"
	"\"ns\","
	"\"resourceVersion\":\"7\",\"finalizers\":[\"example.org/other\"]}}";
static const char with_both[] =
	"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\",\"namespace\":"
	"\"ns\","
	"\"resourceVersion\":\"7\",\"finalizers\":[\"example.org/other\",\"" OURS "\"]}}";
static const char with_none[] = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
				"\"name\":\"x\",\"namespace\":\"ns\","
				"\"resourceVersion\":\"7\"}}";
static const char deleting[] =
	"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\",\"namespace\":"
	"\"ns\","
	"\"resourceVersion\":\"7\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"}}";

typedef int (*change_fn)(struct kube_conn *conn, const struct kube_ref *ref, const char *finalizer,
			 struct kube_status *reterr);

/* Changes the object `now`; the list that was written, "" for no write. */
static void expect_change(change_fn change, const char *now, const char *wanted)
{
	struct rig g;
	rig_up(&g);
	const struct kube_ref ref = { .kind = api_kind_find("", "ConfigMap"),
				      .ns = "ns",
				      .name = "x" };
	fakeapi_push(g.f, &(struct fakeapi_reply){ .body = now });
	assert_int_equal(change(g.conn, &ref, OURS, &g.st), 0);
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

static void added(void **state)
{
	(void)state;
	expect_change(finalizer_add, with_none, "\"finalizers\":[\"" OURS "\"]");
	expect_change(finalizer_add, with_other,
		      "\"finalizers\":[\"example.org/other\",\"" OURS "\"]");
	expect_change(finalizer_add, with_both, "");
	expect_change(finalizer_add, deleting, "");
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
		cmocka_unit_test(added),
		cmocka_unit_test(removed),
		cmocka_unit_test(gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
