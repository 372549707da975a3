/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of lists, watches, writes and deletes, from the query parameters or, for deletes, the
 * body. They are validated as kube-apiserver does. Texts are borrowed from the parameters or from
 * the body's tree. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "apiserver/codec/status.h"
#include "apiserver/request/call.h"
#include "base/compiler.h"

enum { APISERVER_MANAGER_MAX_BYTES = 128 };

/* The value of a query parameter; NULL when it was not sent. */
const char *apiserver_options_arg(const struct apiserver_call *call, const char *name);

struct apiserver_list_options {
	const char *label, *field;		      /* selectors */
	const char *resource_version, *match, *token; /* "" when not given */
	bool watch, bookmarks;
	int initial_events; /* -1: not sent */
	int64_t limit;
	int64_t timeout_s; /* 0: not sent; negative: the watch ends at once */
};
/* This one, apiserver_write_options and apiserver_delete_options return 0 with `ret` filled in,
 * or a negative code with the refusal that the client gets in `status`. Strings live as long as
 * `call`. */
MUST_CHECK int apiserver_list_options(const struct apiserver_call *call,
				      struct apiserver_list_options *ret,
				      struct apiserver_status *status);

enum apiserver_write_kind {
	APISERVER_WRITE_CREATE,
	APISERVER_WRITE_UPDATE,
	APISERVER_WRITE_PATCH,
	APISERVER_WRITE_APPLY,
};

enum apiserver_strictness {
	APISERVER_WARN, /* the default */
	APISERVER_STRICT,
	APISERVER_IGNORE,
};

struct apiserver_write_options {
	char manager[APISERVER_MANAGER_MAX_BYTES + 1];
	enum apiserver_strictness strictness;
	bool dry_run, force;
};
MUST_CHECK int apiserver_write_options(const struct apiserver_call *call,
				       enum apiserver_write_kind kind,
				       struct apiserver_write_options *ret,
				       struct apiserver_status *status);

struct apiserver_delete_options {
	bool dry_run;
	const char *policy;		    /* propagationPolicy, "" when not given */
	int orphan;			    /* orphanDependents; -1: not sent */
	const char *uid, *resource_version; /* preconditions, NULL when not given */
	json_t *body;			    /* what they point into */
};
MUST_CHECK int apiserver_delete_options(const struct apiserver_call *call,
					struct apiserver_delete_options *ret,
					struct apiserver_status *status);
void apiserver_delete_options_done(struct apiserver_delete_options *options);
