/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Admission: a table of hooks by kind, which are asked before an object is stored. A cluster's API
 * server asks by reviews (admission.k8s.io/v1), which kube/webhook/hookserver.h receives; the
 * embedded API of the same process calls admission_call_hooks. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum {
	ADMISSION_BODY_MAX_BYTES = 8 << 20, /* the server's objects have 3 MiB, old and new */
	ADMISSION_DEPTH_MAX = 200,
	ADMISSION_WARNING_MAX = 120, /* characters; the server cuts what is longer */
};

/* Borrowed, valid while a hook runs. */
struct admission_request {
	const char *group, *kind; /* of the object; "" for core */
	const char *operation;	  /* "CREATE", "UPDATE", "DELETE", "CONNECT" */
	const char *ns, *name;	  /* "" when there is none (generateName) */
	const char *sub;	  /* "status"; "" for the object itself */
	const char *user;
	bool dry_run; /* nothing outside the object may be changed: hooks never do */
	/* NULL for DELETE; as the mutating hooks before this one have left it. */
	const json_t *object;
	const json_t *old; /* NULL for CREATE */
};

/* Set up before a hook runs as allowed. */
struct admission_reply {
	bool allowed;
	unsigned code;	       /* of the refusal; 403 unless set */
	struct strbuf message; /* why not, for people */
	json_t *object;	       /* mutating hooks: a copy to be edited; NULL for DELETE */
	json_t *warnings;      /* array of strings, shown by kubectl */
};

/* Refuses with a sentence. */
void admission_refuse(struct admission_reply *reply, const char *fmt, ...) PRINTF_LIKE(2, 3);
void admission_warn(struct admission_reply *reply, const char *fmt, ...) PRINTF_LIKE(2, 3);

enum admission_phase { ADMISSION_VALIDATE, ADMISSION_MUTATE };
enum { ADMISSION_PHASES = ADMISSION_MUTATE + 1 };

enum admission_operation { ADMISSION_CREATE = 1, ADMISSION_UPDATE = 2, ADMISSION_DELETE = 4 };

/* A row of the table. A registration in deploy/webhooks may restrict it further, never widen it. */
struct admission_hook {
	enum admission_phase phase;
	/* Of the web hook in deploy/webhooks, and behind its path: refusals cite it. Rows with the
	 * same name are one web hook. */
	const char *name;
	const char *group, *kind; /* "" for core */
	unsigned operations;	  /* ADMISSION_CREATE | ...; 0: create and update */
	bool status;		  /* also asked about writes to the subresource status */
	/* Must not wait. */
	void (*review)(void *ctx, const struct admission_request *req,
		       struct admission_reply *reply);
	void *ctx;
};

/* Calls the hooks of the request's kind, operation and subresource, in the table's order, until one
 * refuses, and returns that one; NULL: all allow it. *reply is initialized here, and freed by
 * admission_reply_done in each case. */
const struct admission_hook *admission_call_hooks(const struct admission_hook *hooks, size_t count,
						  enum admission_phase phase,
						  const struct admission_request *req,
						  struct admission_reply *reply);
void admission_reply_done(struct admission_reply *reply);
/* Whether the table has a hook of this phase for the kind. */
bool admission_has_hook(const struct admission_hook *hooks, size_t count,
			enum admission_phase phase, const char *group, const char *kind);
/* The HTTP status of a refusal. */
unsigned admission_refusal_code(const struct admission_reply *reply);

/* Answers the bytes of one AdmissionReview by the hooks of its kind, in order, until one refuses.
 * ERR_PARSE: that is none; ERR_NOTFOUND: no hook for the kind; the text then says why, and the API
 * server decides by the registration's failurePolicy. */
MUST_CHECK int admission_review(const struct admission_hook *hooks, size_t count,
				enum admission_phase phase, struct slice body, struct strbuf *out);
