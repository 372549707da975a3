/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each verb: what is asked of the server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/meta.h"
#include "base/err.h"
#include "kube/test_rig.h"

static void asked(struct fakeapi *f, size_t i, const char *line, const char *type, const char *body)
{
	const char *req = fakeapi_request(f, i);
	if (strncmp(req, line, strlen(line)) != 0 || strncmp(req + strlen(line), " HTTP", 5) != 0)
		fail_msg("not '%s': %s", line, req);
	if (type != NULL && strstr(req, type) == NULL)
		fail_msg("no %s: %s", type, req);
	if (body != NULL)
		assert_string_equal(strstr(req, "\r\n\r\n") + 4, body);
}

static void verbs(void **state)
{
	struct rig g;
	(void)state;
	rig_up(&g);
	struct kube_ref pod = { api_kind_find("", "Pod"), "ns", "p", NULL };
	struct kube_ref dns = { api_kind_find("operator.openshift.io", "DNS"), NULL, "default",
				NULL };
	json_t *v = json_pack("{s:i}", "a", 1);
	assert_int_equal(kube_get(g.conn, &pod, NULL, &g.st), 0);
	asked(g.f, 0, "GET /api/v1/namespaces/ns/pods/p", NULL, "");
	assert_int_equal(kube_create(g.conn, &pod, v, NULL, &g.st), 0);
	asked(g.f, 1, "POST /api/v1/namespaces/ns/pods", "application/json\r\n", "{\"a\":1}");
	assert_int_equal(kube_update(g.conn, &dns, "status", v, NULL, &g.st), 0);
	asked(g.f, 2, "PUT /apis/operator.openshift.io/v1/dnses/default/status", NULL, "{\"a\":1}");
	assert_int_equal(kube_merge(g.conn, &dns, NULL, v, NULL, &g.st), 0);
	asked(g.f, 3, "PATCH /apis/operator.openshift.io/v1/dnses/default",
	      "application/merge-patch+json\r\n", "{\"a\":1}");
	assert_int_equal(kube_apply(g.conn, &pod, NULL, "a b/c", v, NULL, &g.st), 0);
	asked(g.f, 4, "PATCH /api/v1/namespaces/ns/pods/p?force=true&fieldManager=a%20b%2Fc",
	      "application/apply-patch+yaml\r\n", "{\"a\":1}");
	assert_int_equal(kube_delete(g.conn, &pod, NULL, &g.st), 0);
	asked(g.f, 5, "DELETE /api/v1/namespaces/ns/pods/p", NULL,
	      "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\"}");
	assert_int_equal(kube_delete(g.conn, &pod,
				     &(struct kube_delete_opts){ "u", "5", "Foreground" }, &g.st),
			 0);
	asked(g.f, 6, "DELETE /api/v1/namespaces/ns/pods/p", NULL,
	      "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"preconditions\":{\"uid\":\"u\","
	      "\"resourceVersion\":\"5\"},\"propagationPolicy\":\"Foreground\"}");
	json_decref(v);
	rig_down(&g);
}

/* Texts go out and come back as they are; what cannot be an object is an error. */
static void creates_by_text(void **state)
{
	static const struct {
		const char *answer, *text; /* NULL: refused */
	} rows[] = {
		{ "{\"a\":1}\n", "{\"a\":1}" },
		{ " {\n  \"a\": 1\n}\n", "{\n  \"a\": 1\n}" },
		{ "<html>fine</html>", NULL },
		{ "[{}]", NULL },
		{ "{", NULL },
		{ "", NULL },
	};
	struct kube_ref pods = { api_kind_find("", "Pod"), "ns", NULL, NULL };
	struct rig g;
	(void)state;
	rig_up(&g);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
		fakeapi_push(g.f, &(struct fakeapi_reply){ .body = rows[i].answer });
		int r = kube_create_text(g.conn, &pods, SLICE("{\"b\": 2}"), &got, &g.st);
		asked(g.f, i, "POST /api/v1/namespaces/ns/pods", "application/json\r\n",
		      "{\"b\": 2}");
		assert_int_equal(r, rows[i].text != NULL ? 0 : ERR_PARSE);
		assert_string_equal(got.s, rows[i].text != NULL ? rows[i].text : "");
		if (r < 0)
			assert_string_equal(g.st.message, "the response is not an API object");
		kube_status_done(&g.st);
	}
	rig_down(&g);
}

/* A path that leads elsewhere is never asked for: deleting `pods/..` would delete the namespace,
 * and `pods/` all of them. */
static void names_that_lead_elsewhere(void **state)
{
	static const char *const names[] = { "", ".", "..", "a/b", "%2e%2e" };
	const struct api_kind *kind = api_kind_find("", "Pod");
	struct rig g;
	json_t *v = json_object();
	(void)state;
	rig_up(&g);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct kube_ref o = { kind, "ns", names[i], NULL };
		assert_int_equal(kube_get(g.conn, &o, NULL, &g.st), ERR_CONFIG);
		assert_non_null(strstr(g.st.message, "cannot be the name of an object"));
		assert_int_equal(kube_delete(g.conn, &o, NULL, &g.st), ERR_CONFIG);
		assert_int_equal(kube_update(g.conn, &o, NULL, v, NULL, NULL), ERR_CONFIG);
		assert_int_equal(kube_merge(g.conn, &o, NULL, v, NULL, NULL), ERR_CONFIG);
		assert_int_equal(kube_apply(g.conn, &o, NULL, "m", v, NULL, NULL), ERR_CONFIG);
	}
	struct kube_ref in = { kind, "..", "p", NULL };
	assert_int_equal(kube_create(g.conn, &in, v, NULL, &g.st), ERR_CONFIG);
	assert_int_equal(kube_delete(g.conn, &in, NULL, &g.st), ERR_CONFIG);
	assert_int_equal(fakeapi_requests(g.f), 0);
	/* And should one be asked for after all, it goes out as it is. */
	assert_int_equal(kube_call(g.conn,
				   &(struct kube_request){ .method = "GET", .path = "/a/../b" },
				   NULL, &g.st),
			 0);
	asked(g.f, 0, "GET /a/../b", NULL, "");
	json_decref(v);
	rig_down(&g);
}

struct change {
	int calls, verdict;
};

static int set_x(void *ctx, json_t *copy)
{
	struct change *c = ctx;
	c->calls++;
	json_object_set_new(copy, "x", json_integer(c->calls));
	return c->verdict;
}

static void push_object(struct rig *g, const char *version)
{
	char body[128];
	snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"p\",\"resourceVersion\":\"%s\"}}",
		 version);
	fakeapi_push(g->f, &(struct fakeapi_reply){ .body = body });
}

static void push_conflict(struct rig *g)
{
	fakeapi_push(g->f, &(struct fakeapi_reply){
				   .status = 409,
				   .body = "{\"kind\":\"Status\",\"reason\":\"Conflict\","
					   "\"details\":{\"causes\":[]}}" });
}

/* An edit after a conflict reads the object again and computes it again, five times in all. */
static void edits(void **state)
{
	struct rig g;
	struct kube_ref pod = { api_kind_find("", "Pod"), "ns", "p", NULL };
	struct change c = { 0, 1 };
	(void)state;
	rig_up(&g);
	push_object(&g, "7");
	push_conflict(&g);
	push_object(&g, "8");
	fakeapi_push(g.f, &(struct fakeapi_reply){ .status = 200 });
	assert_int_equal(kube_edit(g.conn, &pod, "status", set_x, &c, &g.st), 0);
	asked(g.f, 1, "PATCH /api/v1/namespaces/ns/pods/p/status", NULL,
	      "{\"x\":1,\"metadata\":{\"resourceVersion\":\"7\"}}");
	asked(g.f, 3, "PATCH /api/v1/namespaces/ns/pods/p/status", NULL,
	      "{\"x\":2,\"metadata\":{\"resourceVersion\":\"8\"}}");
	for (int i = 0; i < 5; i++) {
		push_object(&g, "9");
		push_conflict(&g);
	}
	assert_int_equal(kube_edit(g.conn, &pod, NULL, set_x, &c, &g.st), ERR_CONFLICT);
	assert_string_equal(g.st.reason, "Conflict");
	kube_status_done(&g.st);
	assert_int_equal(fakeapi_requests(g.f), 14);
	rig_down(&g);
}

static void edits_nothing(void **state)
{
	struct rig g;
	struct kube_ref pod = { api_kind_find("", "Pod"), "ns", "p", NULL };
	struct change c = { 0, 0 };
	(void)state;
	rig_up(&g);
	assert_int_equal(kube_edit(g.conn, &pod, NULL, set_x, &c, &g.st), 0);
	c.verdict = ERR_CONFIG;
	assert_int_equal(kube_edit(g.conn, &pod, NULL, set_x, &c, &g.st), ERR_CONFIG);
	c = (struct change){ 0, 1 };
	fakeapi_push(g.f, &(struct fakeapi_reply){ .body = "{\"x\":1}" }); /* as it should be */
	assert_int_equal(kube_edit(g.conn, &pod, NULL, set_x, &c, &g.st), 0);
	assert_int_equal(fakeapi_requests(g.f), 3);
	fakeapi_push(g.f, &(struct fakeapi_reply){ .status = 404 });
	assert_int_equal(kube_edit(g.conn, &pod, NULL, set_x, &c, &g.st), ERR_NOTFOUND);
	/* another object has the name by now */
	pod.uid = "u-1";
	fakeapi_push(g.f, &(struct fakeapi_reply){ .body = "{\"metadata\":{\"uid\":\"u-2\"}}" });
	assert_int_equal(kube_edit(g.conn, &pod, NULL, set_x, &c, &g.st), ERR_GONE);
	assert_int_equal(fakeapi_requests(g.f), 5);
	rig_down(&g);
}

/* Of the answer only what the object is. Texts that are left to jansson come whole. */
static void applies_for_identity(void **state)
{
	struct rig g;
	struct kube_ref map = { api_kind_find("", "ConfigMap"), "ns", "m", NULL };
	json_t *value = json_pack("{s:s}", "kind", "ConfigMap"), *made = NULL;
	(void)state;
	rig_up(&g);
	fakeapi_push(g.f, &(struct fakeapi_reply){
				  .body = "{\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\","
					  "\"resourceVersion\":\"7\",\"managedFields\":[{}]},"
					  "\"data\":{\"a\":\"b\"}}" });
	assert_int_equal(kube_apply_identity(g.conn, &map, "me", value, &made, &g.st), 0);
	assert_string_equal(api_resource_version(made), "7");
	assert_int_equal(json_object_size(made), 2);
	assert_null(api_get(made, "metadata.managedFields"));
	json_decref(made);
	asked(g.f, 0, "PATCH /api/v1/namespaces/ns/configmaps/m?force=true&fieldManager=me",
	      "application/apply-patch+yaml", "{\"kind\":\"ConfigMap\"}");
	fakeapi_push(g.f,
		     &(struct fakeapi_reply){ .body = "{\"metadata\":{\"resourceVersion\":"
						      "\"8\",\"x\":\"\xc3\xa9\"},\"data\":1}" });
	assert_int_equal(kube_apply_identity(g.conn, &map, "me", value, &made, &g.st), 0);
	assert_string_equal(api_resource_version(made), "8");
	json_decref(made);
	fakeapi_push(g.f, &(struct fakeapi_reply){ .body = "{\"metadata\":{}" });
	assert_int_equal(kube_apply_identity(g.conn, &map, "me", value, &made, &g.st), ERR_PARSE);
	kube_status_done(&g.st);
	json_decref(value);
	rig_down(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verbs),
		cmocka_unit_test(creates_by_text),
		cmocka_unit_test(names_that_lead_elsewhere),
		cmocka_unit_test(edits),
		cmocka_unit_test(edits_nothing),
		cmocka_unit_test(applies_for_identity),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
