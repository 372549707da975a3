/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all writes share: defaulting, field ownership, validation and storage of an object. Objects
 * are in the version of the request. Functions return ERR_DENIED with writing->status filled in
 * when they refuse a write. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "apiserver/request/request.h"

struct apiserver_writing {
	struct apiserver_api *api;
	const struct apiserver_resource *resource;
	const char *ns;		 /* NULL for cluster-scoped objects */
	const char *subresource; /* "" or "status" */
	const char *manager;	 /* field manager */
	const char *user;	 /* who asks; NULL: this program itself, without admission hooks */
	bool dry_run, applied;	 /* applied: managedFields are set already */
	struct strbuf *warnings; /* lines for the answer; NULL: not wanted */
	/* Gets the text of what was stored, if that is in the request's version; NULL: not wanted. */
	struct strbuf *stored_text;
	struct apiserver_status *status;
};

/* What a kind's rules may use of this server. `dry_run`: addresses and ports are not kept. */
struct apiserver_env apiserver_write_env(struct apiserver_api *api, bool dry_run);

/* Creates an object; `object` is changed. *ret is a new reference to what was stored. */
MUST_CHECK int apiserver_write_new(const struct apiserver_writing *writing, json_t *object,
				   json_t **ret);
/* Replaces `old`, which has this revision, by `object`. ERR_CONFLICT: another write came in
 * between. A write without changes is not stored; one that removes the last finalizer of an object
 * that is being deleted removes the object. */
MUST_CHECK int apiserver_write_change(const struct apiserver_writing *writing, const json_t *old,
				      uint64_t revision, json_t *object, json_t **ret);

/* Removes an object from the store. `was` is in the stored version. *ret_revision (may be NULL) is
 * the revision of the removal. ERR_CONFLICT, or the store's error. */
MUST_CHECK int apiserver_write_removal(struct apiserver_api *api,
				       const struct apiserver_resource *resource, const json_t *was,
				       uint64_t revision, uint64_t *ret_revision);
/* Stores an object without defaulting and validation, for changes by the system itself. `object` is
 * in the stored version. */
MUST_CHECK int apiserver_write_plain(struct apiserver_api *api,
				     const struct apiserver_resource *resource,
				     const json_t *object, uint64_t revision,
				     uint64_t *ret_revision);

/* Sets a new uid in the metadata. */
void apiserver_write_uid(json_t *meta);

/* Whether the object has no finalizer left. */
bool apiserver_write_is_finalized(const struct apiserver_resource *resource, const json_t *object);
