/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The API as one struct: its configuration, and the parts that verbs and controllers share. It is
 * built and freed in apiserver/api.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "api/fielderr.h"
#include "apiserver/kind/resource.h"
#include "base/strbuf.h"

struct apiserver_allocator;
struct apiserver_collector;
struct apiserver_endpoints;
struct apiserver_filler;
struct apiserver_store;
struct apiserver_ticker;

/* A validation beyond the schema for one kind; cmd/ registers them. */
struct apiserver_check {
	const char *group, *kind;
	void (*check)(const json_t *object, const json_t *old, struct api_errors *errs);
};

/* A question to admission hooks, before an object is stored. Borrowed; objects are in the version of
 * the request. */
struct apiserver_review {
	bool mutates;	       /* the object may be changed; else the last check before storage */
	const char *operation; /* "CREATE", "UPDATE", "DELETE" */
	const char *group, *kind, *ns, *name; /* "" for core, for none */
	const char *subresource;	      /* "" or "status" */
	const char *user;
	bool dry_run;
	const json_t *object, *old; /* NULL for DELETE, for CREATE */
};

/* Set up as allowed without changes. */
struct apiserver_verdict {
	const char *refused_by; /* name of the web hook that refuses; NULL: none does */
	unsigned code;		/* of the refusal */
	struct strbuf message;	/* why */
	json_t *object;		/* the changed object, a new reference; NULL: unchanged */
	struct strbuf warnings; /* lines, also of a refusal */
};

/* The admission hooks of this process; cmd/ registers them. */
struct apiserver_admission {
	/* Any thread, many at a time, within the request: must not wait, and must not call the API. */
	void (*review)(void *ctx, const struct apiserver_review *review,
		       struct apiserver_verdict *ret);
	void *ctx;
};

struct apiserver_api_conf {
	struct apiserver_store *store;
	const char *const *service_cidrs; /* NULL-terminated; NULL: 10.96.0.0/16 */
	const char *version;		  /* of the program, for /version */
	const struct apiserver_check *checks;
	size_t n_checks;
	const struct apiserver_admission *admission; /* NULL: none; outlives the API */
	/* Address and port of this server, for EndpointSlice default/kubernetes; NULL: none. */
	const char *address;
	uint16_t port;
	uint64_t bookmark_ns;  /* between bookmarks; 0: a minute */
	uint64_t event_ttl_ns; /* 0: an hour */
	uint64_t wait_ns;      /* how long to wait for a future resourceVersion; 0: 3 seconds */
};

struct apiserver_api {
	struct apiserver_store *store;
	struct apiserver_api_conf conf;
	struct apiserver_allocator *allocator; /* Service addresses and node ports */
	struct apiserver_collector *collector;
	struct apiserver_endpoints *endpoints;
	struct apiserver_ticker *ticker; /* timers of watches */
	struct apiserver_filler *filler; /* thread that fills streams */
	/* Whether a user may do this, for reviews; ctx is unused. */
	bool (*may)(void *ctx, const char *user, const struct apiserver_action *action);
	_Atomic unsigned waiting; /* requests that wait for a future revision */
};
