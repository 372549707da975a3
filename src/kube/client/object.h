/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects by kind and name: one function for each verb of the API. All block until the answer or
 * the time-out of kube_call (client.h); each thread uses its own conn. `*ret` is the server's
 * object, a new reference; `ret` and `reterr` may be NULL. Errors are those of kube_call, and
 * ERR_CONFIG without a request when ns or name cannot be a path segment. Call kube_status_done
 * on `reterr` after each call. */
#pragma once

#include <jansson.h>

#include "api/kind.h"
#include "base/compiler.h"
#include "base/strbuf.h"

struct kube_conn;
struct kube_status;

struct kube_ref {
	const struct api_kind *kind;
	const char *ns; /* NULL or "" for objects of the cluster */
	const char *name;
	const char *uid; /* kube_edit: only this one; NULL: whichever has the name */
};

MUST_CHECK int kube_get(struct kube_conn *conn, const struct kube_ref *ref, json_t **ret,
			struct kube_status *reterr);
/* POST. Of `in` only kind and ns are used: the name is in the object. */
MUST_CHECK int kube_create(struct kube_conn *conn, const struct kube_ref *in, const json_t *object,
			   json_t **ret, struct kube_status *reterr);
/* The same of an object whose JSON the caller has written; the JSON of the answer is appended to
 * `ret`. */
MUST_CHECK int kube_create_text(struct kube_conn *conn, const struct kube_ref *in,
				struct slice object, struct strbuf *ret,
				struct kube_status *reterr);
/* A merge patch whose JSON the caller has written. */
MUST_CHECK int kube_merge_text(struct kube_conn *conn, const struct kube_ref *ref, const char *sub,
			       struct slice patch, struct kube_status *reterr);
/* PUT; the object's resourceVersion must be the one that was read. */
MUST_CHECK int kube_update(struct kube_conn *conn, const struct kube_ref *ref, const char *sub,
			   const json_t *value, json_t **ret, struct kube_status *reterr);
/* JSON merge patch; sub "status" or NULL. To lock it, put metadata.resourceVersion into the patch.
 */
MUST_CHECK int kube_merge(struct kube_conn *conn, const struct kube_ref *ref, const char *sub,
			  const json_t *patch, json_t **ret, struct kube_status *reterr);
/* Server-side apply with force. `value` holds only the fields we own, with apiVersion and kind. */
MUST_CHECK int kube_apply(struct kube_conn *conn, const struct kube_ref *ref, const char *sub,
			  const char *manager, const json_t *value, json_t **ret,
			  struct kube_status *reterr);
/* The same, for writers of many objects: *ret is at least the object's apiVersion, kind and metadata
 * without managedFields; the rest is not read. */
MUST_CHECK int kube_apply_identity(struct kube_conn *conn, const struct kube_ref *ref,
				   const char *manager, const json_t *value, json_t **ret,
				   struct kube_status *reterr);
struct kube_delete_opts {
	const char *uid; /* preconditions; NULL: none */
	const char *resource_version;
	const char *propagation; /* "Background", "Foreground", "Orphan"; NULL: the server's */
};
/* `opts` may be NULL: no preconditions, the server's propagation. ERR_CONFLICT: a precondition
 * failed. */
MUST_CHECK int kube_delete(struct kube_conn *conn, const struct kube_ref *ref,
			   const struct kube_delete_opts *opts, struct kube_status *reterr);

/* Reads, lets `change` edit a copy, writes the difference as a merge patch locked by
 * resourceVersion; after a conflict again, five times in all. change: 1 write, 0 nothing to do,
 * negative: stop. ERR_GONE without a write: an object with another uid has the name by now. */
MUST_CHECK int kube_edit(struct kube_conn *conn, const struct kube_ref *ref, const char *sub,
			 int (*change)(void *ctx, json_t *copy), void *ctx,
			 struct kube_status *reterr);
