/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reviews are answered by the hooks of their kind; changes become JSON patches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/meta.h"
#include "api/patch/patch.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/text/base64.h"
#include "kube/webhook/admission.h"
#include "kube/webhook/admission_test.h"

static unsigned asked;

static void only_lower(void *ctx, const struct admission_request *req,
		       struct admission_reply *reply)
{
	asked++;
	assert_string_equal(ctx, "ctx");
	if (req->object != NULL && api_label(req->object, "bad") != NULL)
		admission_refuse(reply, "label 'bad' of %s/%s by %s", req->ns, req->name,
				 req->user);
	if (req->dry_run)
		admission_warn(reply, "%0200d", 7);
}

static void add_label(void *ctx, const struct admission_request *req, struct admission_reply *reply)
{
	(void)ctx;
	(void)req;
	if (reply->object != NULL)
		json_object_set_new(api_get(reply->object, "metadata.labels"), "a/b",
				    json_string("1"));
}

static char ctx_text[] = "ctx";
static const struct admission_hook hooks[] = {
	{ ADMISSION_VALIDATE, "one", "", "ConfigMap", .review = only_lower, .ctx = ctx_text },
	{ ADMISSION_VALIDATE, "two", "", "ConfigMap", .review = only_lower, .ctx = ctx_text },
	{ ADMISSION_MUTATE, "three", "", "ConfigMap", .review = add_label },
	{ ADMISSION_VALIDATE, "four", "", "Node", ADMISSION_DELETE, .review = only_lower,
	  .ctx = ctx_text },
	{ ADMISSION_VALIDATE, "five", "", "Node", ADMISSION_UPDATE, true, only_lower, ctx_text },
};

static const char review[] =
	"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{"
	"\"uid\":\"u1\",\"operation\":\"%s\",\"namespace\":\"ns\",\"name\":\"n\",\"dryRun\":%s,"
	"\"kind\":{\"group\":\"\",\"version\":\"v1\",\"kind\":\"%s\"},\"userInfo\":{\"username\":"
	"\"me\"},\"%s\":{\"metadata\":{\"name\":\"n\",\"labels\":{\"%s\":\"1\"}}}}}";

struct answer {
	int r;
	struct strbuf text;
	json_t *response;
};

static void ask(struct answer *a, enum admission_phase phase, const char *body)
{
	strbuf_init(&a->text);
	a->r = admission_review(hooks, ARRAY_LEN(hooks), phase, slice_of(body), &a->text);
	json_t *v = a->r == 0 ? json_loads(a->text.s, 0, NULL) : NULL;
	a->response = json_incref(json_object_get(v, "response"));
	if (a->r == 0) {
		assert_string_equal(api_kind(v), "AdmissionReview");
		assert_string_equal(api_version(v), "admission.k8s.io/v1");
		assert_string_equal(api_get_string(a->response, "uid"), "u1");
	}
	json_decref(v);
}

static void answer_done(struct answer *a)
{
	strbuf_done(&a->text);
	json_decref(a->response);
}

static char *body_of(const char *operation, const char *dry, const char *kind, const char *where,
		     const char *label)
{
	return xasprintf(review, operation, dry, kind, where, label);
}

static void allowed_by_all(void **state)
{
	CLEANUP(freep) char *body = body_of("CREATE", "false", "ConfigMap", "object", "good");
	CLEANUP(answer_done) struct answer a;
	(void)state;
	asked = 0;
	ask(&a, ADMISSION_VALIDATE, body);
	assert_int_equal(a.r, 0);
	assert_true(json_is_true(json_object_get(a.response, "allowed")));
	assert_null(json_object_get(a.response, "status"));
	assert_null(json_object_get(a.response, "patch"));
	assert_null(json_object_get(a.response, "warnings"));
	assert_int_equal(asked, 2);
}

static void refused_by_the_first(void **state)
{
	CLEANUP(freep) char *body = body_of("CREATE", "true", "ConfigMap", "object", "bad");
	CLEANUP(answer_done) struct answer a;
	(void)state;
	asked = 0;
	ask(&a, ADMISSION_VALIDATE, body);
	assert_true(json_is_false(json_object_get(a.response, "allowed")));
	assert_string_equal(api_get_string(a.response, "status.message"),
			    "label 'bad' of ns/n by me");
	assert_int_equal(json_integer_value(api_get(a.response, "status.code")), 403);
	assert_int_equal(asked, 1);
	assert_int_equal(strlen(api_get_string(a.response, "warnings[0]")), ADMISSION_WARNING_MAX);
}

static void changes_become_a_patch(void **state)
{
	CLEANUP(freep) char *body = body_of("UPDATE", "false", "ConfigMap", "object", "x");
	CLEANUP(answer_done) struct answer a;
	CLEANUP(strbuf_done) struct strbuf patch = STRBUF_INIT;
	(void)state;
	ask(&a, ADMISSION_MUTATE, body);
	assert_string_equal(api_get_string(a.response, "patchType"), "JSONPatch");
	assert_int_equal(base64_decode(&patch, slice_of(api_get_string(a.response, "patch"))), 0);
	assert_string_equal(
		patch.s, "[{\"op\":\"add\",\"path\":\"/metadata/labels/a~1b\",\"value\":\"1\"}]");
}

static void deletion_has_nothing_to_change(void **state)
{
	CLEANUP(freep) char *body = body_of("DELETE", "false", "ConfigMap", "oldObject", "x");
	CLEANUP(answer_done) struct answer a;
	(void)state;
	ask(&a, ADMISSION_MUTATE, body);
	assert_int_equal(a.r, 0);
	assert_true(json_is_true(json_object_get(a.response, "allowed")));
	assert_null(json_object_get(a.response, "patch"));
}

/* A row is asked for its operations and its part of the object; for others nobody objects. */
static void rows_choose_operations(void **state)
{
	static const struct {
		const char *operation, *sub;
		unsigned asked;
	} rows[] = { { "CREATE", "", 0 },	{ "UPDATE", "", 1 },	   { "DELETE", "", 1 },
		     { "UPDATE", "status", 1 }, { "DELETE", "status", 0 }, { "UPDATE", "scale", 0 },
		     { "CONNECT", "", 0 } };
	json_t *object = json_object();
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct admission_request req = { .group = "",
						       .kind = "Node",
						       .operation = rows[i].operation,
						       .ns = "",
						       .name = "n",
						       .sub = rows[i].sub,
						       .user = "me",
						       .object = object };
		struct admission_reply reply;
		asked = 0;
		assert_null(admission_call_hooks(hooks, ARRAY_LEN(hooks), ADMISSION_VALIDATE, &req,
						 &reply));
		assert_true(reply.allowed);
		assert_int_equal(asked, rows[i].asked);
		admission_reply_done(&reply);
	}
	json_decref(object);
}

/* ---- two hooks of one kind ---- */

static void add_first(void *ctx, const struct admission_request *req, struct admission_reply *reply)
{
	(void)ctx;
	assert_null(api_label(req->object, "first"));
	json_object_set_new(api_get(reply->object, "metadata.labels"), "first", json_string("1"));
}

/* It sees what the one before did, and its own changes only in the reply. */
static void add_second(void *ctx, const struct admission_request *req,
		       struct admission_reply *reply)
{
	(void)ctx;
	assert_string_equal(api_label(req->object, "first"), "1");
	json_object_set_new(api_get(reply->object, "metadata.labels"), "second", json_string("2"));
	assert_null(api_label(req->object, "second"));
}

static void refuse_second(void *ctx, const struct admission_request *req,
			  struct admission_reply *reply)
{
	add_second(ctx, req, reply);
	admission_refuse(reply, "the second one");
}

static void the_next_hook_sees_changes(void **state)
{
	static const struct admission_hook both[] = {
		{ ADMISSION_MUTATE, "first", "", "ConfigMap", .review = add_first },
		{ ADMISSION_MUTATE, "second", "", "ConfigMap", .review = add_second },
		{ ADMISSION_MUTATE, "third", "", "ConfigMap", .review = refuse_second },
	};
	json_t *object = json_pack("{s:{s:s, s:{}}}", "metadata", "name", "n", "labels");
	const struct admission_request req = { .group = "",
					       .kind = "ConfigMap",
					       .operation = "CREATE",
					       .ns = "ns",
					       .name = "n",
					       .sub = "",
					       .user = "me",
					       .object = object };
	(void)state;
	struct admission_reply reply;
	assert_null(admission_call_hooks(both, 2, ADMISSION_MUTATE, &req, &reply));
	assert_string_equal(api_label(reply.object, "first"), "1");
	assert_string_equal(api_label(reply.object, "second"), "2");
	assert_null(api_label(object, "first"));
	admission_reply_done(&reply);
	const struct admission_hook refused[] = { both[0], both[2] };
	assert_ptr_equal(admission_call_hooks(refused, 2, ADMISSION_MUTATE, &req, &reply),
			 &refused[1]);
	assert_string_equal(reply.message.s, "the second one");
	admission_reply_done(&reply);
	json_decref(object);
}

static void what_is_no_review(void **state)
{
	CLEANUP(freep) char *other = body_of("CREATE", "false", "Secret", "object", "x");
	CLEANUP(freep) char *empty = body_of("CREATE", "false", "ConfigMap", "nothing", "x");
	CLEANUP(freep) char *deep = xmalloc(3000);
	memset(deep, '[', 2999);
	deep[2999] = '\0';
	const struct {
		const char *body;
		int want;
		const char *says;
	} rows[] = {
		{ "", ERR_PARSE, "not JSON" },
		{ "{}", ERR_PARSE, "not an AdmissionReview" },
		{ deep, ERR_PARSE, "not JSON" },
		{ empty, ERR_PARSE, "no uid, operation or object" },
		{ other, ERR_NOTFOUND, "no hook for kind 'Secret'" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(answer_done) struct answer a;
		ask(&a, ADMISSION_VALIDATE, rows[i].body);
		assert_int_equal(a.r, rows[i].want);
		assert_non_null(strstr(a.text.s, rows[i].says));
	}
}

static void limits(void **state)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	CLEANUP(answer_done) struct answer a, c;
	(void)state;
	for (int i = 0; i < ADMISSION_DEPTH_MAX; i++)
		strbuf_adds(&b, "{\"a\":");
	strbuf_adds(&b, "1");
	for (int i = 0; i < ADMISSION_DEPTH_MAX; i++)
		strbuf_adds(&b, "}");
	ask(&a, ADMISSION_VALIDATE, b.s);
	assert_non_null(strstr(a.text.s, "nested too deeply"));
	strbuf_reset(&b);
	strbuf_adds(&b, "[");
	while (b.n <= ADMISSION_BODY_MAX_BYTES)
		strbuf_adds(&b, "\"0123456789012345678901234567890123456789\",");
	strbuf_adds(&b, "1]");
	ask(&c, ADMISSION_VALIDATE, b.s);
	assert_non_null(strstr(c.text.s, "too long"));
}

/* The patch makes the one of the other, whatever they are. */
static void differences(void **state)
{
	static const char *const trees[] = {
		"{}",
		"{\"a\":1}",
		"{\"a\":{\"b\":[1,2,{\"c\":3}]},\"x/y~z\":null}",
		"{\"a\":{\"b\":[1,2]},\"x/y~z\":{\"\":1}}",
		"{\"a\":[],\"b\":{\"a\":{}}}",
		"{\"b\":{\"a\":{\"q\":true}}}",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(trees) * ARRAY_LEN(trees); i++) {
		json_t *from = json_loads(trees[i / ARRAY_LEN(trees)], 0, NULL);
		json_t *to = json_loads(trees[i % ARRAY_LEN(trees)], 0, NULL);
		json_t *ops = admission_diff(from, to), *got;
		char err[200];
		assert_int_equal(api_json_patch(from, ops, &got, ERR_TEXT(err)), 0);
		assert_true(json_equal(got, to));
		assert_int_equal(json_array_size(ops) == 0, json_equal(from, to));
		json_decref(from);
		json_decref(to);
		json_decref(ops);
		json_decref(got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allowed_by_all),
		cmocka_unit_test(refused_by_the_first),
		cmocka_unit_test(changes_become_a_patch),
		cmocka_unit_test(deletion_has_nothing_to_change),
		cmocka_unit_test(rows_choose_operations),
		cmocka_unit_test(the_next_hook_sees_changes),
		cmocka_unit_test(what_is_no_review),
		cmocka_unit_test(limits),
		cmocka_unit_test(differences),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
