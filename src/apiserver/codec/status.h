/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Refusals: the Status (code, reason, message, details) that the API returns instead of an object,
 * worded as by kube-apiserver.
 *
 * Functions that may refuse a request accept a `struct apiserver_status` and return ERR_DENIED when
 * they have filled it in; all constructors here return ERR_DENIED, so that a refusal is one
 * statement. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "api/apply/managed.h"
#include "api/fielderr.h"
#include "apiserver/kind/resource.h"
#include "apiserver/store/store.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/strbuf.h"

struct apiserver_status {
	unsigned code;
	const char *reason; /* "" for none */
	struct strbuf message;
	json_t *details;	/* NULL for none */
	json_t *list_meta;	/* metadata; NULL: empty */
	unsigned retry_after_s; /* 0 for none */
};

#define APISERVER_STATUS_INIT                        \
	{                                            \
		.reason = "", .message = STRBUF_INIT \
	}
void apiserver_status_done(struct apiserver_status *status);
/* The Status object of a refusal, new. */
json_t *apiserver_status_tree(const struct apiserver_status *status);
/* The Status of a successful delete, new. */
json_t *apiserver_status_success(const struct apiserver_resource *resource, const json_t *object);

/* New details about an object; "" is left out. */
json_t *apiserver_status_details(const char *name, const char *group, const char *kind);

/* Appends the name of a resource: "configmaps", "dnses.operator.openshift.io". */
void apiserver_status_add_resource(struct strbuf *out, const struct apiserver_resource *resource);

/* Any refusal without details; reason "" is left out. */
int apiserver_status_refuse(struct apiserver_status *status, unsigned code, const char *reason,
			    const char *fmt, ...) PRINTF_LIKE(4, 5);
int apiserver_status_bad_request(struct apiserver_status *status, const char *fmt, ...)
	PRINTF_LIKE(2, 3);
/* A refusal of the server's generic layer: with empty details. */
int apiserver_status_refuse_generic(struct apiserver_status *status, unsigned code,
				    const char *reason, const char *message);
int apiserver_status_no_such_path(struct apiserver_status *status);
int apiserver_status_no_such_method(struct apiserver_status *status);

int apiserver_status_not_found(struct apiserver_status *status,
			       const struct apiserver_resource *resource, const char *name);
int apiserver_status_no_namespace(struct apiserver_status *status, const char *name);
int apiserver_status_already_exists(struct apiserver_status *status,
				    const struct apiserver_resource *resource, const char *name,
				    bool deleting);
/* 409: "Operation cannot be fulfilled on configmaps "name": text" */
int apiserver_status_conflict(struct apiserver_status *status,
			      const struct apiserver_resource *resource, const char *name,
			      const char *fmt, ...) PRINTF_LIKE(4, 5);
/* The same with the kind instead of the resource. */
int apiserver_status_conflict_kind(struct apiserver_status *status,
				   const struct apiserver_resource *resource, const char *name,
				   const char *fmt, ...) PRINTF_LIKE(4, 5);
int apiserver_status_modified(struct apiserver_status *status,
			      const struct apiserver_resource *resource, const char *name);
/* 403: `resource "name" is forbidden: text` */
int apiserver_status_forbidden(struct apiserver_status *status,
			       const struct apiserver_resource *resource, const char *name,
			       const char *fmt, ...) PRINTF_LIKE(4, 5);
int apiserver_status_terminating(struct apiserver_status *status,
				 const struct apiserver_resource *resource, const char *name,
				 const char *ns);
/* 422 for a kind ("ConfigMap", "DNS.operator.openshift.io"); copies the errors. */
int apiserver_status_unprocessable(struct apiserver_status *status, const char *group,
				   const char *kind, const char *name,
				   const struct api_errors *errs);
/* 422 for options; `kind` is "CreateOptions" and the like. */
int apiserver_status_bad_options(struct apiserver_status *status, const char *kind,
				 const struct api_errors *errs);
int apiserver_status_apply_conflict(struct apiserver_status *status,
				    const struct api_conflicts *conflicts);
int apiserver_status_too_large_version(struct apiserver_status *status, unsigned long long asked,
				       unsigned long long current);
int apiserver_status_expired(struct apiserver_status *status, const char *fmt, ...)
	PRINTF_LIKE(2, 3);
/* A refusal for an error of the store: 500, 507, 413. */
int apiserver_status_store_failed(struct apiserver_status *status, int error);
