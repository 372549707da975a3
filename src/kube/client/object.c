/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects by kind and name: each verb of the API in one call. */
#include "kube/client/object.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/patch/patch.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/rng.h"
#include "kube/client/client_priv.h"
#include "kube/client/status_priv.h"

enum { EDIT_TRIES = 5 };
/* Wait between two tries of an edit after a conflict, with 10 % jitter. */
static const uint64_t edit_wait_ns = 10 * NS_PER_MS;

static int path_of(struct strbuf *out, const struct kube_ref *ref, const char *sub,
		   struct kube_status *reterr)
{
	const char *ns = ref->ns != NULL && ref->ns[0] != '\0' ? ref->ns : NULL;
	const char *bad = ns != NULL && !api_name_is_path_segment(ns)		      ? ns
			  : ref->name != NULL && !api_name_is_path_segment(ref->name) ? ref->name
										      : NULL;
	if (bad != NULL) {
		char text[320];
		snprintf(text, sizeof(text), "'%s' cannot be the name of an object", bad);
		if (reterr != NULL) {
			*reterr = (struct kube_status){ 0 };
			kube_status_set_text(reterr, text);
		}
		return ERR_CONFIG;
	}
	api_kind_path(out, ref->kind, ns, ref->name, sub);
	return 0;
}

int kube_get(struct kube_conn *conn, const struct kube_ref *ref, json_t **ret,
	     struct kube_status *reterr)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	int r = path_of(&path, ref, NULL, reterr);
	if (r < 0)
		return r;
	return kube_call(conn, &(struct kube_request){ .method = "GET", .path = path.s }, ret,
			 reterr);
}

static int create_object(struct kube_conn *conn, const struct kube_ref *in,
			 struct kube_request *request, json_t **ret, struct kube_status *reterr)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	const struct kube_ref all = { .kind = in->kind, .ns = in->ns };
	int r = path_of(&path, &all, NULL, reterr);
	if (r < 0)
		return r;
	request->method = "POST";
	request->path = path.s;
	return kube_call(conn, request, ret, reterr);
}

int kube_create(struct kube_conn *conn, const struct kube_ref *in, const json_t *object,
		json_t **ret, struct kube_status *reterr)
{
	struct kube_request request = { .body = object };
	return create_object(conn, in, &request, ret, reterr);
}

int kube_create_text(struct kube_conn *conn, const struct kube_ref *in, struct slice object,
		     struct strbuf *ret, struct kube_status *reterr)
{
	struct kube_request request = { .raw = object, .answer_text = ret };
	return create_object(conn, in, &request, NULL, reterr);
}

int kube_update(struct kube_conn *conn, const struct kube_ref *ref, const char *sub,
		const json_t *value, json_t **ret, struct kube_status *reterr)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	int r = path_of(&path, ref, sub, reterr);
	if (r < 0)
		return r;
	return kube_call(conn,
			 &(struct kube_request){ .method = "PUT", .path = path.s, .body = value },
			 ret, reterr);
}

static int merge_object(struct kube_conn *conn, const struct kube_ref *ref, const char *sub,
			struct kube_request *request, json_t **ret, struct kube_status *reterr)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	int r = path_of(&path, ref, sub, reterr);
	if (r < 0)
		return r;
	request->method = "PATCH";
	request->path = path.s;
	request->content_type = "application/merge-patch+json";
	return kube_call(conn, request, ret, reterr);
}

int kube_merge(struct kube_conn *conn, const struct kube_ref *ref, const char *sub,
	       const json_t *value, json_t **ret, struct kube_status *reterr)
{
	struct kube_request request = { .body = value };
	return merge_object(conn, ref, sub, &request, ret, reterr);
}

int kube_merge_text(struct kube_conn *conn, const struct kube_ref *ref, const char *sub,
		    struct slice patch, struct kube_status *reterr)
{
	struct kube_request request = { .raw = patch };
	return merge_object(conn, ref, sub, &request, NULL, reterr);
}

static int apply_object(struct kube_conn *conn, const struct kube_ref *ref, const char *sub,
			struct kube_request *request, const char *manager, json_t **ret,
			struct kube_status *reterr)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	int r = path_of(&path, ref, sub, reterr);
	if (r < 0)
		return r;
	strbuf_adds(&path, "?force=true&fieldManager=");
	strbuf_add_url(&path, slice_of(manager));
	request->method = "PATCH";
	request->path = path.s;
	request->content_type = "application/apply-patch+yaml";
	return kube_call(conn, request, ret, reterr);
}

int kube_apply(struct kube_conn *conn, const struct kube_ref *ref, const char *sub,
	       const char *manager, const json_t *value, json_t **ret, struct kube_status *reterr)
{
	struct kube_request request = { .body = value };
	return apply_object(conn, ref, sub, &request, manager, ret, reterr);
}

int kube_apply_identity(struct kube_conn *conn, const struct kube_ref *ref, const char *manager,
			const json_t *value, json_t **ret, struct kube_status *reterr)
{
	struct kube_request request = { .body = value, .identity = true };
	return apply_object(conn, ref, NULL, &request, manager, ret, reterr);
}

static json_t *delete_options(const struct kube_delete_opts *opts)
{
	json_t *o = json_pack("{s:s,s:s}", "kind", "DeleteOptions", "apiVersion", "v1");
	json_t *pre = json_object();
	if (opts->uid != NULL)
		json_object_set_new(pre, "uid", json_string(opts->uid));
	if (opts->resource_version != NULL)
		json_object_set_new(pre, "resourceVersion", json_string(opts->resource_version));
	if (json_object_size(pre) > 0)
		json_object_set(o, "preconditions", pre);
	if (opts->propagation != NULL)
		json_object_set_new(o, "propagationPolicy", json_string(opts->propagation));
	json_decref(pre);
	return o;
}

int kube_delete(struct kube_conn *conn, const struct kube_ref *ref,
		const struct kube_delete_opts *opts, struct kube_status *reterr)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	static const struct kube_delete_opts none = { 0 };
	int r = path_of(&path, ref, NULL, reterr);
	if (r < 0)
		return r;
	json_t *body = delete_options(opts != NULL ? opts : &none);
	r = kube_call(conn,
		      &(struct kube_request){ .method = "DELETE", .path = path.s, .body = body },
		      NULL, reterr);
	json_decref(body);
	return r;
}

/* ---- read, change, write ---- */

/* What to write so that `to` comes of `from`, locked to the version of `from`; NULL: nothing. */
static json_t *locked_diff(const json_t *from, const json_t *to)
{
	json_t *p = api_merge_diff(from, to);
	if (p == NULL || json_object_size(p) == 0) {
		json_decref(p);
		return NULL;
	}
	json_t *copy = json_deep_copy(p); /* the diff may share parts of `to` */
	json_decref(p);
	json_t *meta = json_object_get(copy, "metadata");
	if (!json_is_object(meta)) {
		meta = json_object();
		json_object_set_new(copy, "metadata", meta);
	}
	json_object_set_new(meta, "resourceVersion", json_string(api_resource_version(from)));
	return copy;
}

static int edit_once(struct kube_conn *conn, const struct kube_ref *ref, const char *sub,
		     int (*change)(void *ctx, json_t *copy), void *ctx, struct kube_status *reterr)
{
	json_t *now = NULL;
	int r = kube_get(conn, ref, &now, reterr);
	if (r < 0)
		return r;
	json_t *copy = json_deep_copy(now);
	bool is_other = ref->uid != NULL && strcmp(api_uid(now), ref->uid) != 0;
	r = is_other ? ERR_GONE : change(ctx, copy);
	json_t *p = r > 0 ? locked_diff(now, copy) : NULL;
	json_decref(now);
	json_decref(copy);
	if (p == NULL)
		return MIN(r, 0);
	r = kube_merge(conn, ref, sub, p, NULL, reterr);
	json_decref(p);
	return r;
}

int kube_edit(struct kube_conn *conn, const struct kube_ref *ref, const char *sub,
	      int (*change)(void *ctx, json_t *copy), void *ctx, struct kube_status *reterr)
{
	struct rng rng;
	rng_init(&rng);
	for (int i = 1;; i++) {
		int r = edit_once(conn, ref, sub, change, ctx, reterr);
		if (r != ERR_CONFLICT || i == EDIT_TRIES)
			return r;
		if (reterr != NULL)
			kube_status_done(reterr);
		r = kube_conn_sleep(conn, edit_wait_ns + rng_below(&rng, edit_wait_ns / 10));
		if (r < 0)
			return r;
	}
}
