/* What every write does, whatever asked for it: the object is given what the server gives, checked,
 * its managers are noted, and it is stored. Objects are in the version of the request. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "apiserver/verb/request.h"

struct apiserver_writing {
	struct apiserver_api *api;
	const struct apiserver_resource *resource;
	const char *ns;		 /* NULL for objects of the cluster */
	const char *subresource; /* "" or "status" */
	const char *manager;	 /* who writes */
	bool dry_run, applied;	 /* applied: managedFields are made already */
	struct strbuf *warnings; /* lines for the answer; NULL: nobody reads them */
	struct apiserver_status *status;
};

/* What a kind's rules may use of this server. `dry_run`: addresses and ports are not kept. */
struct apiserver_env apiserver_write_env(struct apiserver_api *api, bool dry_run);

/* Stores a new object. It is changed; *ret is a new reference to what is stored. */
MUST_CHECK int apiserver_write_new(const struct apiserver_writing *writing, json_t *object,
				   json_t **ret);
/* Stores another version of `old`, which has this revision. ERR_CONFLICT: somebody was faster. A
 * change that changes nothing is not stored; one that takes the last finalizer from an object that
 * is being deleted removes it. */
MUST_CHECK int apiserver_write_change(const struct apiserver_writing *writing, const json_t *old,
				      uint64_t revision, json_t *object, json_t **ret);

/* Removes it; `was` in the stored version. *ret_revision (may be NULL) is that of the removal.
 * ERR_CONFLICT, or refused. */
MUST_CHECK int apiserver_write_removal(struct apiserver_api *api,
				       const struct apiserver_resource *resource, const json_t *was,
				       uint64_t revision, uint64_t *ret_revision);
/* Puts a version of an object without any of the rules: for what the system itself changes.
 * `object` in the stored version. */
MUST_CHECK int apiserver_write_plain(struct apiserver_api *api,
				     const struct apiserver_resource *resource,
				     const json_t *object, uint64_t revision,
				     uint64_t *ret_revision);

/* A new uid into metadata. */
void apiserver_write_uid(json_t *meta);

/* Does nothing keep it from going? */
bool apiserver_write_is_finalized(const struct apiserver_resource *resource, const json_t *object);
