/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls the hooks of a kind, and answers admission reviews: parses the review, calls its hooks,
 * writes their answer. */
#include "kube/webhook/admission.h"
#include "kube/webhook/admission_test.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/text/base64.h"

enum { CODE_FORBIDDEN = 403 };

/* ---- differences ---- */

static void add_step(struct strbuf *path, const char *key)
{
	strbuf_addc(path, '/');
	for (; *key != '\0'; key++) {
		if (*key == '~')
			strbuf_adds(path, "~0");
		else if (*key == '/')
			strbuf_adds(path, "~1");
		else
			strbuf_addc(path, *key);
	}
}

static void add_op(json_t *ops, const char *op, const struct strbuf *path, const json_t *value)
{
	json_t *o = json_pack("{s:s, s:s}", "op", op, "path", path->s);
	if (value != NULL)
		json_object_set_new(o, "value", json_deep_copy(value));
	json_array_append_new(ops, o);
}

static void cut_path(struct strbuf *path, size_t count)
{
	path->n = count;
	path->s[count] = '\0';
}

/* Arrays are replaced whole: their elements have no names that would survive a concurrent change.
 */
static void diff_values(json_t *ops, struct strbuf *path, const json_t *from, const json_t *to)
{
	const char *key;
	json_t *v;
	size_t n = path->n;
	if (json_equal(from, to))
		return;
	if (!json_is_object(from) || !json_is_object(to)) {
		add_op(ops, "replace", path, to);
		return;
	}
	json_object_foreach (api_tree(from), key, v) {
		if (json_object_get(to, key) != NULL)
			continue;
		add_step(path, key);
		add_op(ops, "remove", path, NULL);
		cut_path(path, n);
	}
	json_object_foreach (api_tree(to), key, v) {
		const json_t *was = json_object_get(from, key);
		add_step(path, key);
		if (was == NULL)
			add_op(ops, "add", path, v);
		else
			diff_values(ops, path, was, v);
		cut_path(path, n);
	}
}

json_t *admission_diff(const json_t *from, const json_t *to)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	json_t *ops = json_array();
	strbuf_adds(&path, "");
	diff_values(ops, &path, from, to);
	return ops;
}

/* ---- answers of hooks ---- */

void admission_refuse(struct admission_reply *reply, const char *fmt, ...)
{
	va_list ap;
	reply->allowed = false;
	strbuf_reset(&reply->message);
	va_start(ap, fmt);
	strbuf_vaddf(&reply->message, fmt, ap);
	va_end(ap);
}

void admission_warn(struct admission_reply *reply, const char *fmt, ...)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	va_list ap;
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	size_t n = MIN(text.n, (size_t)ADMISSION_WARNING_MAX);
	while (n < text.n && n > 0 && ((unsigned char)text.s[n] & 0xc0) == 0x80)
		n--;
	json_t *v = json_stringn(text.s, n);
	if (v != NULL)
		json_array_append_new(reply->warnings, v);
}

void admission_reply_done(struct admission_reply *reply)
{
	strbuf_done(&reply->message);
	json_decref(reply->object);
	json_decref(reply->warnings);
}

unsigned admission_refusal_code(const struct admission_reply *reply)
{
	return reply->code != 0 ? reply->code : CODE_FORBIDDEN;
}

/* ---- hooks ---- */

static bool is_of_kind(const struct admission_hook *hook, enum admission_phase phase,
		       const char *group, const char *kind)
{
	return hook->phase == phase && strcmp(hook->group, group) == 0 &&
	       strcmp(hook->kind, kind) == 0;
}

bool admission_has_hook(const struct admission_hook *hooks, size_t count,
			enum admission_phase phase, const char *group, const char *kind)
{
	for (size_t i = 0; i < count; i++) {
		if (is_of_kind(&hooks[i], phase, group, kind))
			return true;
	}
	return false;
}

static unsigned operation_of(const struct admission_request *req)
{
	static const struct {
		const char *name;
		enum admission_operation operation;
	} rows[] = { { "CREATE", ADMISSION_CREATE },
		     { "UPDATE", ADMISSION_UPDATE },
		     { "DELETE", ADMISSION_DELETE } };
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strcmp(rows[i].name, req->operation) == 0)
			return rows[i].operation;
	}
	return 0; /* CONNECT: no hook is about that */
}

static bool hook_fits(const struct admission_hook *hook, enum admission_phase phase,
		      const struct admission_request *req)
{
	unsigned wanted = hook->operations != 0 ? hook->operations
						: (unsigned)(ADMISSION_CREATE | ADMISSION_UPDATE);
	bool right_part = req->sub[0] == '\0' || (hook->status && strcmp(req->sub, "status") == 0);
	return is_of_kind(hook, phase, req->group, req->kind) && right_part &&
	       (wanted & operation_of(req)) != 0;
}

const struct admission_hook *admission_call_hooks(const struct admission_hook *hooks, size_t count,
						  enum admission_phase phase,
						  const struct admission_request *req,
						  struct admission_reply *reply)
{
	const struct admission_hook *refusing = NULL;
	struct admission_request now = *req; /* with the changes so far */
	json_t *changed = NULL;
	*reply = (struct admission_reply){ .allowed = true, .warnings = json_array() };
	strbuf_init(&reply->message);
	if (phase == ADMISSION_MUTATE && req->object != NULL)
		reply->object = json_deep_copy(req->object);
	for (size_t i = 0; i < count && refusing == NULL; i++) {
		if (!hook_fits(&hooks[i], phase, req))
			continue;
		if (reply->object != NULL && !json_equal(reply->object, now.object)) {
			/* A copy, since the hook edits the reply's. */
			json_decref(changed);
			now.object = changed = json_deep_copy(reply->object);
		}
		hooks[i].review(hooks[i].ctx, &now, reply);
		refusing = reply->allowed ? NULL : &hooks[i];
	}
	json_decref(changed);
	return refusing;
}

/* ---- the answer ---- */

static void add_patch(json_t *response, const struct admission_request *req,
		      const struct admission_reply *reply)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	if (reply->object == NULL || req->object == NULL)
		return;
	json_t *ops = admission_diff(req->object, reply->object);
	if (json_array_size(ops) != 0) {
		char *json = json_dumps(ops, JSON_COMPACT);
		base64_encode(&text, slice_of(json));
		json_object_set_new(response, "patchType", json_string("JSONPatch"));
		json_object_set_new(response, "patch", json_string(text.s));
		free(json);
	}
	json_decref(ops);
}

/* Hooks build their sentences of what users wrote, which need not be UTF-8. */
static json_t *text_value(const struct strbuf *out)
{
	json_t *v = json_stringn(out->s, out->n);
	return v != NULL ? v : json_string("refused (the reason is not UTF-8)");
}

static void write_answer(struct strbuf *out, const char *uid, const struct admission_request *req,
			 const struct admission_reply *reply)
{
	json_t *response = json_pack("{s:s, s:b}", "uid", uid, "allowed", reply->allowed);
	if (!reply->allowed) {
		json_object_set_new(response, "status",
				    json_pack("{s:i, s:o}", "code",
					      (int)admission_refusal_code(reply), "message",
					      text_value(&reply->message)));
	} else {
		add_patch(response, req, reply);
	}
	if (json_array_size(reply->warnings) != 0)
		json_object_set(response, "warnings", reply->warnings);
	json_t *review = json_pack("{s:s, s:s, s:o}", "apiVersion", "admission.k8s.io/v1", "kind",
				   "AdmissionReview", "response", response);
	char *text = json_dumps(review, JSON_COMPACT);
	strbuf_adds(out, text);
	free(text);
	json_decref(review);
}

/* ---- the question ---- */

static bool is_deeper(const json_t *value, unsigned than)
{
	const char *key;
	json_t *e;
	size_t i;
	if (than == 0)
		return true;
	json_object_foreach (api_tree(value), key, e) {
		if (is_deeper(e, than - 1))
			return true;
	}
	json_array_foreach (value, i, e) {
		if (is_deeper(e, than - 1))
			return true;
	}
	return false;
}

static const json_t *object_or_null(const json_t *request, const char *key)
{
	const json_t *v = json_object_get(request, key);
	return json_is_object(v) ? v : NULL;
}

static int read_request(const json_t *review, const char **ret_uid, struct admission_request *ret,
			struct strbuf *why)
{
	const json_t *request = object_or_null(review, "request");
	const char *version = api_version(review);
	if (strcmp(version, "admission.k8s.io/v1") != 0 ||
	    strcmp(api_kind(review), "AdmissionReview") != 0 || request == NULL) {
		strbuf_adds(why, "not an AdmissionReview of admission.k8s.io/v1\n");
		return ERR_PARSE;
	}
	*ret_uid = api_get_string(request, "uid");
	*ret = (struct admission_request){
		.group = api_get_string(request, "kind.group"),
		.kind = api_get_string(request, "kind.kind"),
		.operation = api_get_string(request, "operation"),
		.ns = api_get_string(request, "namespace"),
		.name = api_get_string(request, "name"),
		.sub = api_get_string(request, "subResource"),
		.user = api_get_string(request, "userInfo.username"),
		.dry_run = json_is_true(json_object_get(request, "dryRun")),
		.object = object_or_null(request, "object"),
		.old = object_or_null(request, "oldObject"),
	};
	bool has_object = ret->object != NULL || ret->old != NULL;
	if ((*ret_uid)[0] == '\0' || ret->operation[0] == '\0' || !has_object) {
		strbuf_adds(why, "the review has no uid, operation or object\n");
		return ERR_PARSE;
	}
	return 0;
}

static json_t *parse_review(struct slice body, struct strbuf *why)
{
	json_error_t err;
	json_t *v = body.n <= ADMISSION_BODY_MAX_BYTES
			    ? json_loadb(body.p, body.n, JSON_REJECT_DUPLICATES, &err)
			    : NULL;
	if (v != NULL && !is_deeper(v, ADMISSION_DEPTH_MAX))
		return v;
	strbuf_adds(why, v != NULL ? "nested too deeply\n" : "not JSON, or too long\n");
	json_decref(v);
	return NULL;
}

static int answer_review(const struct admission_hook *hooks, size_t count,
			 enum admission_phase phase, const json_t *review, struct strbuf *out)
{
	struct admission_request q;
	const char *uid;
	int r = read_request(review, &uid, &q, out);
	if (r < 0)
		return r;
	if (!admission_has_hook(hooks, count, phase, q.group, q.kind)) {
		strbuf_addf(out, "no hook for kind '%s' of group '%s'\n", q.kind, q.group);
		return ERR_NOTFOUND;
	}
	CLEANUP(admission_reply_done) struct admission_reply reply;
	admission_call_hooks(hooks, count, phase, &q, &reply);
	write_answer(out, uid, &q, &reply);
	return 0;
}

int admission_review(const struct admission_hook *hooks, size_t count, enum admission_phase phase,
		     struct slice body, struct strbuf *out)
{
	json_t *review = parse_review(body, out);
	if (review == NULL)
		return ERR_PARSE;
	int r = answer_review(hooks, count, phase, review, out);
	json_decref(review);
	return r;
}
