/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Admission reviews (admission.k8s.io/v1): what the API server asks before it stores an object, and
 * our answer. A table of hooks by kind; no I/O, which is kube/webhook/hookserver.h's. */
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
	const char *operation; /* "CREATE", "UPDATE", "DELETE", "CONNECT" */
	const char *ns, *name; /* "" when there is none (generateName) */
	const char *sub;       /* "status"; "" for the object itself */
	const char *user;
	bool dry_run;	      /* nothing outside the object may be changed: hooks never do */
	const json_t *object; /* NULL for DELETE */
	const json_t *old;    /* NULL for CREATE */
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

struct admission_hook {
	enum admission_phase phase;
	const char *group, *kind; /* "" for core */
	/* Must not wait. */
	void (*review)(void *ctx, const struct admission_request *req,
		       struct admission_reply *reply);
	void *ctx;
};

/* Answers the bytes of one AdmissionReview by the hooks of its kind, in order, until one refuses.
 * ERR_PARSE: that is none; ERR_NOTFOUND: no hook for the kind; the text then says why, and the API
 * server decides by the registration's failurePolicy. */
MUST_CHECK int admission_review(const struct admission_hook *hooks, size_t count,
				enum admission_phase phase, struct slice body, struct strbuf *out);
