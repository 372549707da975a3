/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The built-in kinds compared with the answers of a real API server to the same objects, which are in
 * test_kinds.json (recorded and compared by tests/kube/test_kinds.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/codec/strict.h"
#include "apiserver/kind/resource.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/kind/write_steps.h"
#include "apiserver/verb/allocator.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum { DRAWN_PORT = 32000 };

static int fake_allocate(void *ctx, int family, const char *want, char *ret, size_t ret_n)
{
	(void)ctx;
	if (want[0] == '\0' && family == 4) {
		snprintf(ret, ret_n, "ALLOCATED");
		return 0;
	}
	if (strcmp(want, "10.96.0.1") == 0)
		return ERR_CONFLICT;
	if (strncmp(want, "10.96.", 6) != 0)
		return ERR_RANGE;
	snprintf(ret, ret_n, "%s", want);
	return 0;
}

static void fake_release(void *ctx, const char *address)
{
	(void)ctx, (void)address;
}

static int fake_port(void *ctx, unsigned want, unsigned *ret)
{
	unsigned *n = ctx;
	*ret = want != 0 ? want : DRAWN_PORT + (*n)++;
	return want == 0 || (want >= APISERVER_NODE_PORT_MIN && want <= APISERVER_NODE_PORT_MAX)
		       ? 0
		       : ERR_RANGE;
}

static void fake_release_port(void *ctx, unsigned port)
{
	(void)ctx;
	(void)port;
}

static unsigned n_drawn;
static const char *const cidrs[] = { "10.96.0.0/16", NULL };
static const struct apiserver_env env = {
	.ctx = &n_drawn,
	.allocate = fake_allocate,
	.release = fake_release,
	.allocate_port = fake_port,
	.release_port = fake_release_port,
	.service_cidrs = cidrs,
};

/* Expands the marks that stand for long strings in the file. */
static void lengthen(json_t *v)
{
	static const struct {
		const char *mark;
		size_t n;
	} marks[] = { { "@1MiB@", 1 << 20 }, { "@256KiB@", 256 << 10 } };
	const char *key;
	json_t *value;
	size_t i;
	json_object_foreach (v, key, value)
		lengthen(value);
	json_array_foreach (v, i, value)
		lengthen(value);
	for (i = 0; i < ARRAY_LEN(marks) && json_is_string(v); i++) {
		const char *s = json_string_value(v), *at = strstr(s, marks[i].mark);
		if (at == NULL)
			continue;
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		for (size_t k = 0; k < marks[i].n; k++)
			strbuf_addc(&text, 'x');
		strbuf_adds(&text, at + strlen(marks[i].mark));
		json_string_set(v, text.s);
	}
}

/* Replaces allocated values by the word that the file has for them. */
static void mark_drawn(json_t *v)
{
	const char *key;
	json_t *value;
	size_t i;
	json_object_foreach (v, key, value) {
		if (json_is_integer(value) && json_integer_value(value) >= DRAWN_PORT &&
		    strstr(key, "odePort") != NULL)
			json_object_set_new(v, key, json_string("ALLOCATED"));
		else
			mark_drawn(value);
	}
	json_array_foreach (v, i, value)
		mark_drawn(value);
}

struct outcome {
	struct api_errors errs;
	json_t *o;
};

/* The object with the metadata that the server sets before validation. */
static json_t *sent(const struct apiserver_resource *r, const json_t *body)
{
	json_t *o = json_deep_copy(body), *meta = json_object_get(o, "metadata");
	lengthen(o);
	if (r->kind->namespaced)
		json_object_set_new(meta, "namespace", json_string("default"));
	if (api_name(o)[0] == '\0')
		json_object_set_new(
			meta, "name",
			json_pack("s+", api_get_string(o, "metadata.generateName"), "abcde"));
	if (strcmp(r->kind->kind, "Namespace") == 0) /* no name: a row says which */
		json_object_del(meta, "namespace");
	return o;
}

static void write_status(const struct apiserver_resource *r, struct outcome *out, const json_t *old)
{
	apiserver_prepare_status(r, out->o, old);
	apiserver_validate_status(r, out->o, old, &out->errs);
}

static void write_object(const struct apiserver_resource *r, struct outcome *out, const json_t *old)
{
	apiserver_prepare(r, &env, out->o, old);
	apiserver_validate(r, &env, out->o, old, &out->errs);
	if (out->errs.n == 0 && r->strategy->admit != NULL) {
		int code = r->strategy->admit(&env, out->o, old, &out->errs);
		assert_int_equal(code < 0, out->errs.n != 0);
	}
}

static void run_row(const struct apiserver_resource *r, const json_t *row, bool status,
		    struct outcome *out)
{
	json_t *old = NULL;
	if (json_object_get(row, "old") != NULL) {
		struct outcome was = { .o = sent(r, json_object_get(row, "old")) };
		write_object(r, &was, NULL);
		assert_int_equal(was.errs.n, 0);
		old = was.o;
		json_t *meta = json_object_get(old, "metadata");
		json_object_set_new(meta, "uid", json_string("1"));
		json_object_set_new(meta, "resourceVersion", json_string("5"));
		json_object_set_new(meta, "creationTimestamp", json_string("2026-01-01T00:00:00Z"));
	}
	out->o = sent(r, json_object_get(row, "object"));
	if (old != NULL) { /* as the server fills them in */
		json_t *given = json_pack("{ss,ss,ss}", "uid", "1", "resourceVersion", "5",
					  "creationTimestamp", "2026-01-01T00:00:00Z");
		json_object_update_missing(json_object_get(out->o, "metadata"), given);
		json_decref(given);
	}
	if (status)
		write_status(r, out, old);
	else
		write_object(r, out, old);
	json_decref(old);
}

static char *causes_text(const json_t *list, bool recorded)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *c = json_array_get(list, i);
		for (size_t k = 0; k < 3; k++) {
			static const char *const keys[] = { "field", "reason", "message" };
			const json_t *v =
				recorded ? json_array_get(c, k) : json_object_get(c, keys[k]);
			strbuf_addf(&b, "%s%s", json_string_value(v), k < 2 ? " | " : "\n");
		}
	}
	return strbuf_take(&b);
}

static bool same_errors(const struct apiserver_resource *r, const json_t *row,
			const struct outcome *out)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT, kind = STRBUF_INIT;
	const struct api_kind *k = r->stored->kind;
	json_t *causes = api_errors_causes(&out->errs);
	CLEANUP(freep) char *got = causes_text(causes, false);
	CLEANUP(freep) char *want = causes_text(json_object_get(row, "causes"), true);
	const char *message = api_get_string(row, "message");
	json_decref(causes);
	strbuf_addf(&kind, "%s%s%s", k->kind, k->group[0] != '\0' ? "." : "", k->group);
	api_errors_text(&out->errs, kind.s, api_name(out->o), &text);
	if (strcmp(got, want) == 0 && strcmp(text.s, message) == 0)
		return true;
	print_error("--- server\n%s\n%s--- ours\n%s\n%s", message, want, text.s, got);
	return false;
}

static bool same_stored(const json_t *row, const struct outcome *out)
{
	static const char *const ours[] = { "uid", "resourceVersion", "creationTimestamp" };
	json_t *want = json_deep_copy(json_object_get(row, "stored"));
	json_t *meta = json_object_get(out->o, "metadata");
	lengthen(want);
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		json_object_del(meta, ours[i]);
	if (api_get(want, "metadata.generateName") != NULL)
		json_object_del(meta, "name");
	json_object_del(json_object_get(want, "metadata"), "generation"); /* the writer's */
	json_object_del(meta, "generation");
	mark_drawn(out->o);
	bool same = json_equal(want, out->o) != 0;
	if (!same) {
		CLEANUP(freep) char *a = json_dumps(want, JSON_SORT_KEYS);
		CLEANUP(freep) char *b = json_dumps(out->o, JSON_SORT_KEYS);
		print_error("--- server\n%.1500s\n--- ours\n%.1500s\n", a, b);
	}
	json_decref(want);
	return same;
}

/* Where we differ intentionally, the expected answer is adjusted first:
 *	Node	a new one gets no taint not-ready: no controller would take it off again
 *	Pod	the list of differences behind "pod updates may not change ..." is left out */
static void adjust(json_t *row)
{
	json_t *taints = api_get(row, "stored.spec.taints"), *message = api_get(row, "message");
	json_t *cause = json_array_get(json_array_get(api_get(row, "causes"), 0), 2);
	size_t n = json_array_size(taints);
	if (strcmp(api_get_string(row, "kind"), "Node") == 0 && n != 0 &&
	    strcmp(api_get_string(json_array_get(taints, n - 1), "key"),
		   "node.kubernetes.io/not-ready") == 0) {
		json_array_remove(taints, n - 1);
		if (n == 1)
			json_object_del(api_get(row, "stored.spec"), "taints");
	}
	json_t *texts[] = { message, cause };
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		const char *s = json_string_value(texts[i]);
		const char *cut = s != NULL ? strstr(s, "\n@@") : NULL;
		if (cut != NULL)
			json_string_setn(texts[i], s, (size_t)(cut - s));
	}
}

static json_t *load(void)
{
	json_error_t e;
	json_t *file = json_load_file(SOURCE_DIR "/test_kinds.json", 0, &e);
	if (file == NULL)
		fail_msg("test_kinds.json:%d: %s", e.line, e.text);
	return file;
}

static bool same_row(const struct apiserver_resource *r, json_t *row, bool status)
{
	struct outcome out = { 0 };
	bool fine = json_integer_value(json_object_get(row, "code")) == 200;
	adjust(row);
	run_row(r, row, status, &out);
	bool same = fine == (out.errs.n == 0);
	if (!same || !fine)
		same = same_errors(r, row, &out);
	else
		same = same_stored(row, &out);
	api_errors_done(&out.errs);
	json_decref(out.o);
	return same;
}

static void check_table(const char *key, size_t at_least)
{
	json_t *file = load(), *row;
	size_t i, bad = 0;
	json_array_foreach (json_object_get(file, key), i, row) {
		const json_t *body = json_object_get(row, "object");
		if (same_row(apiserver_resource_of(body), row, strcmp(key, "status") == 0))
			continue;
		CLEANUP(freep) char *text = json_dumps(body, 0);
		print_error("=== row %zu %s %.300s\n", i,
			    json_object_get(row, "old") != NULL ? "update" : "new", text);
		bad++;
	}
	if (bad != 0)
		fail_msg("%zu rows of %zu differ", bad, i);
	assert_true(i >= at_least);
	json_decref(file);
}

static void recorded_answers(void **state)
{
	(void)state;
	check_table("rows", 350);
}

static void recorded_status(void **state)
{
	(void)state;
	check_table("status", 12);
}

/* ---- allocation and release ---- */

struct pool {
	VEC(char *) taken;
};

static int pool_allocate(void *ctx, int family, const char *want, char *ret, size_t ret_n)
{
	struct pool *p = ctx;
	assert_int_equal(family, 4);
	if (want[0] != '\0')
		snprintf(ret, ret_n, "%s", want);
	else
		snprintf(ret, ret_n, "10.96.0.%zu", p->taken.n + 50);
	for (size_t i = 0; i < p->taken.n; i++) {
		if (strcmp(p->taken.v[i], ret) == 0)
			return ERR_CONFLICT;
	}
	vec_push(&p->taken, xstrdup(ret));
	return 0;
}

static void pool_drop(struct pool *p, const char *s)
{
	for (size_t i = 0; i < p->taken.n; i++) {
		if (strcmp(p->taken.v[i], s) == 0) {
			free(p->taken.v[i]);
			p->taken.v[i] = p->taken.v[--p->taken.n];
			return;
		}
	}
	fail_msg("%s was not taken", s);
}

static void pool_release(void *ctx, const char *address)
{
	pool_drop(ctx, address);
}

static int pool_port(void *ctx, unsigned want, unsigned *ret)
{
	char text[64], got[64];
	*ret = want != 0 ? want : 31000;
	snprintf(text, sizeof(text), "%u", *ret);
	return pool_allocate(ctx, 4, text, got, sizeof(got));
}

static void pool_release_port(void *ctx, unsigned port)
{
	char text[64];
	snprintf(text, sizeof(text), "%u", port);
	pool_drop(ctx, text);
}

static json_t *service(const char *spec)
{
	json_t *o =
		json_pack("{ss,ss,s{ss,ss},so}", "apiVersion", "v1", "kind", "Service", "metadata",
			  "name", "a", "namespace", "b", "spec", json_loads(spec, 0, NULL));
	assert_non_null(o);
	return o;
}

static int admit(const struct apiserver_env *e, json_t *o, const json_t *old)
{
	const struct apiserver_resource *r = apiserver_resource_find("", "v1", "services");
	struct api_errors errs = { 0 };
	apiserver_prepare(r, e, o, old);
	int code = r->strategy->admit(e, o, old, &errs);
	api_errors_done(&errs);
	return code;
}

static void given_back(void **state)
{
	const struct apiserver_strategy *s =
		apiserver_resource_find("", "v1", "services")->strategy;
	struct pool pool = { 0 };
	const struct apiserver_env e = { .ctx = &pool,
					 .allocate = pool_allocate,
					 .release = pool_release,
					 .allocate_port = pool_port,
					 .release_port = pool_release_port,
					 .service_cidrs = cidrs };
	(void)state;
	json_t *a = service("{\"type\":\"NodePort\",\"ports\":[{\"port\":80}]}");
	assert_int_equal(admit(&e, a, NULL), 0);
	assert_int_equal(pool.taken.n, 2); /* an address and a port */
	json_t *b = service("{\"type\":\"NodePort\",\"ports\":[{\"port\":80,\"nodePort\":31000}]}");
	assert_int_equal(admit(&e, b, NULL), ERR_CONFLICT); /* it keeps nothing allocated */
	assert_int_equal(pool.taken.n, 2);
	json_t *c = service("{\"type\":\"ExternalName\",\"externalName\":\"x.y\"}");
	assert_int_equal(admit(&e, c, a), 0);
	s->undo(&e, c, a); /* the write failed: nothing was allocated for it */
	assert_int_equal(pool.taken.n, 2);
	s->undo(&e, a, c); /* the write succeeded */
	assert_int_equal(pool.taken.n, 0);
	json_t *d = service("{\"ports\":[{\"port\":80}]}");
	assert_int_equal(admit(&e, d, c), 0);
	assert_int_equal(pool.taken.n, 1);
	s->removed(&e, d);
	assert_int_equal(pool.taken.n, 0);
	vec_done(&pool.taken);
	json_decref(a);
	json_decref(b);
	json_decref(c);
	json_decref(d);
}

/* The server's sentence around what apiserver_strict says. */
static void sentence(struct strbuf *out, const struct apiserver_resource *r, const char *err,
		     const json_t *lines)
{
	strbuf_addf(out, "%s in version \"%s\" cannot be handled as a %s: %s", r->kind->kind,
		    r->version, r->kind->kind, err);
	for (size_t i = 0; i < json_array_size(lines); i++)
		strbuf_addf(out, "%s%s", i != 0 ? ", " : "strict decoding error: ",
			    json_string_value(json_array_get(lines, i)));
}

/* False, and a message, if our errors differ from the server's. */
static bool same_strict(const struct apiserver_resource *r, const char *body, const char *want)
{
	CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
	json_t *o = json_loads(body, 0, NULL), *lines = json_array();
	char err[1024] = "";
	int code = apiserver_strict_decode(r, slice_of(body), o, lines, ERR_TEXT(err));
	if (code < 0 || json_array_size(lines) != 0)
		sentence(&got, r, err, code < 0 ? NULL : lines);
	bool same = strcmp(got.s, want) == 0;
	if (!same)
		print_error("=== %s\n--- server\n%s\n--- ours\n%s\n", body, want, got.s);
	json_decref(o);
	json_decref(lines);
	return same;
}

static void strict_decoding(void **state)
{
	json_t *file = load(), *row;
	size_t i, bad = 0, n = 0;
	(void)state;
	json_array_foreach (json_object_get(file, "strict"), i, row) {
		const json_t *o = json_object_get(row, "object");
		CLEANUP(freep) char *body = json_dumps(o, 0);
		bool refused = json_integer_value(json_object_get(row, "code")) == 400;
		bad += !same_strict(apiserver_resource_of(o), body,
				    refused ? api_get_string(row, "message") : "");
		n++;
	}
	json_array_foreach (json_object_get(file, "texts"), i, row) {
		const char *text = api_get_string(row, "text");
		json_t *o = json_loads(text, 0, NULL);
		bad += !same_strict(apiserver_resource_of(o), text, api_get_string(row, "message"));
		json_decref(o);
		n++;
	}
	if (bad != 0)
		fail_msg("%zu rows of %zu differ", bad, n);
	assert_true(n >= 90);
	json_decref(file);
}

static void assert_one_unknown(struct slice text)
{
	const struct apiserver_resource *r = apiserver_resource_find("", "v1", "configmaps");
	json_t *lines = json_array();
	json_t *o = json_pack("{ss,ss,s{ss},si}", "apiVersion", "v1", "kind", "ConfigMap",
			      "metadata", "name", "x", "other", 1);
	char err[256];
	assert_int_equal(apiserver_strict_decode(r, text, o, lines, ERR_TEXT(err)), 0);
	assert_int_equal(json_array_size(lines), 1);
	assert_string_equal(json_string_value(json_array_get(lines, 0)), "unknown field \"other\"");
	json_decref(lines);
	json_decref(o);
}

/* From YAML, in which no key can stand twice, and from JSON, also with an escaped key. */
static void strict_forms(void **state)
{
	const struct slice texts[] = {
		{ 0 },
		SLICE("{\"apiVersion\":\"v1\",\"other\":1}"),
		SLICE(" {\"metadata\":{\"name\":\"x\"}, \"ot\\u0068er\" : 1 }"),
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_one_unknown(texts[i]);
}

/* The number of reported fields is limited. */
static void strict_limit(void **state)
{
	const struct apiserver_resource *r = apiserver_resource_find("", "v1", "configmaps");
	json_t *o = json_object(), *lines = json_array();
	char err[256];
	(void)state;
	for (int i = 0; i < 1000; i++) {
		char key[16];
		snprintf(key, sizeof(key), "k%d", i);
		json_object_set_new(o, key, json_true());
	}
	CLEANUP(freep) char *body = json_dumps(o, 0);
	assert_int_equal(apiserver_strict_decode(r, slice_of(body), o, lines, ERR_TEXT(err)), 0);
	assert_int_equal(json_array_size(lines), 100);
	json_decref(lines);
	json_decref(o);
}

static void assert_tree(const json_t *got, const char *want)
{
	json_t *tree = json_loads(want, 0, NULL);
	CLEANUP(freep) char *got_text = json_dumps(got, JSON_COMPACT);
	CLEANUP(freep) char *want_text = json_dumps(tree, JSON_COMPACT);
	assert_string_equal(got_text, want_text);
	json_decref(tree);
}

/* A status write takes the status and managedFields, and all else from the stored object, which stays
 * as it was. */
static void custom_status(void **state)
{
	static const char stored[] =
		"{\"kind\":\"IPAddressClaim\",\"metadata\":{\"name\":\"a\",\"managedFields\":"
		"[{\"manager\":\"m\"}],\"labels\":{\"l\":\"\"}},\"spec\":{\"poolRef\":{\"name\":"
		"\"p\"}}}";
	static const struct {
		const char *managed, *status; /* sent; NULL: none */
		const char *result;
	} rows[] = {
		{ "[{\"manager\":\"other\",\"time\":\"2026-01-01T02:00:00+02:00\"}]",
		  "{\"addressRef\":{\"name\":\"n\",\"x\":1},\"conditions\":null}",
		  "{\"kind\":\"IPAddressClaim\",\"metadata\":{\"name\":\"a\",\"managedFields\":"
		  "[{\"manager\":\"other\",\"time\":\"2026-01-01T00:00:00Z\"}],\"labels\":"
		  "{\"l\":\"\"}},\"spec\":{\"poolRef\":{\"name\":\"p\"}},\"status\":{"
		  "\"addressRef\":"
		  "{\"name\":\"n\"}}}" },
		{ "[]", NULL, stored },
		{ NULL, "{}",
		  "{\"kind\":\"IPAddressClaim\",\"metadata\":{\"name\":\"a\",\"managedFields\":"
		  "[{\"manager\":\"m\"}],\"labels\":{\"l\":\"\"}},\"spec\":{\"poolRef\":"
		  "{\"name\":\"p\"}},\"status\":{}}" },
	};
	const struct apiserver_resource *r =
		apiserver_resource_find("ipam.cluster.x-k8s.io", "v1beta1", "ipaddressclaims");
	(void)state;
	assert_non_null(r);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_t *old = json_loads(stored, 0, NULL);
		json_t *o = json_pack("{s{ss,s{ss}},s{ss}}", "metadata", "name", "b", "labels",
				      "sent", "", "spec", "sent", "");
		if (rows[i].managed != NULL)
			json_object_set_new(json_object_get(o, "metadata"), "managedFields",
					    json_loads(rows[i].managed, 0, NULL));
		if (rows[i].status != NULL)
			json_object_set_new(o, "status", json_loads(rows[i].status, 0, NULL));
		apiserver_prepare_status(r, o, old);
		assert_tree(o, rows[i].result);
		json_object_set_new(json_object_get(o, "metadata"), "resourceVersion",
				    json_string("9"));
		json_object_del(o, "spec");
		assert_tree(old, stored);
		json_decref(o);
		json_decref(old);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_answers), cmocka_unit_test(recorded_status),
		cmocka_unit_test(custom_status),    cmocka_unit_test(given_back),
		cmocka_unit_test(strict_decoding),  cmocka_unit_test(strict_forms),
		cmocka_unit_test(strict_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
