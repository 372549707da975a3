/* Requests to a Kubernetes API server. Straight-line code for threads that may block.
 *
 * Glossary
 *   client  where the server is, who we are, what it can do; shared by all threads
 *   conn    one thread's connection (keep-alive). Each thread that calls has its own
 *   status  what the server says when it refuses (a `Status` object, or a proxy's text)
 *
 * Requests that meet 429 or 5xx with Retry-After are repeated after that time, up to ten times; a
 * GET also after a reset connection, once. On 401 the token is read again and the request repeated
 * once. Credentials are never logged. libcurl is loaded when the first conn is made. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "api/kind.h"
#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

struct kube_client;
struct kube_config;
struct kube_conn;

struct kube_client *kube_client_new(struct kube_config *c); /* takes the configuration over */
void kube_client_free(struct kube_client *client);	    /* after its conns */
/* For people: "https://10.0.0.1:6443 (context 'prod' of /home/me/.kube/config)". */
const char *kube_client_text(const struct kube_client *client);
/* At most so many writes per second, so many at once after a pause; for controllers. Before threads
 * share it. Calls wait their turn. Default: no limit. */
void kube_client_limit_writes(struct kube_client *client, unsigned per_s, unsigned burst);
/* Borrowed; its functions take it from any thread. */
struct kube_config *kube_client_config(const struct kube_client *client);

/* NULL only when libcurl cannot be loaded: `err` tells. */
struct kube_conn *kube_conn_new(struct kube_client *c, char *err, size_t err_n);
void kube_conn_free(struct kube_conn *conn);
/* What it was made of, for another of the same kind. */
struct kube_client *kube_conn_client(const struct kube_conn *conn);
/* From any thread: a call under way on it ends with -ECANCELED, and all later ones. An exec plugin
 * that it runs is killed. */
void kube_conn_cancel(struct kube_conn *conn);
/* From now on its writes leave a quarter of the allowance to others, and wait sooner than they: for
 * Events and reports. */
void kube_conn_set_patient(struct kube_conn *conn, bool patient);
/* What the server warned of in the last call (`Warning: 299`), a line each, none twice; "" mostly.
 * Borrowed until the next call. */
const char *kube_conn_warnings(const struct kube_conn *conn);

struct kube_status {
	int code;	   /* of HTTP; 0: no answer came */
	char reason[64];   /* "Conflict", "AlreadyExists", "Expired", ... */
	char message[512]; /* for people; with the Audit-Id of a refusal */
	unsigned retry_after_s;
	json_t *causes; /* details.causes, a reference of the caller's, or NULL */
};
void kube_status_done(struct kube_status *status);

struct kube_request {
	const char *method;
	const char *path;	  /* with query; escaped */
	const json_t *body;	  /* or NULL */
	struct slice raw;	  /* body as bytes instead */
	const char *content_type; /* NULL: application/json */
	const char *accept;	  /* NULL: application/json */
	uint64_t timeout_ns;	  /* of all attempts and the waits between them; 0: 60 s */
};

enum {
	KUBE_ANSWER_MAX_BYTES = 16 << 20, /* of kube_call; decoded. Lists are for kube_stream */
	KUBE_ERROR_MAX_BYTES = 64 << 10,  /* of a refusal, what is beyond is dropped */
	KUBE_RETRIES_MAX = 10,
	KUBE_RETRY_AFTER_MAX_S = 60, /* who is told to wait longer gets ERR_BUSY at once */
};

/* One request. *ret (may be NULL) is the decoded answer. Errors: ERR_NOTFOUND (404), ERR_DUPLICATE
 * (409 AlreadyExists), ERR_CONFLICT (other 409), ERR_GONE (410), ERR_CONFIG (400, 422: refused as
 * invalid), ERR_DENIED (401, 403), ERR_BUSY (429, 503), ERR_TIMEOUT (also 504), -ECANCELED,
 * ERR_CLOSED (network), ERR_TLS (no handshake: one side does not trust the other, or it was
 * cut), ERR_PARSE, ERR_LIMIT,
 * ERR_INTERNAL (other 5xx), ERR_UNSUPPORTED (other 4xx). `reterr` (may be NULL) has the details. It
 * needs no initialising; kube_status_done it after each call, also one that succeeded. */
MUST_CHECK int kube_call(struct kube_conn *conn, const struct kube_request *request, json_t **ret,
			 struct kube_status *reterr);

/* ---- objects ---- */

/* What object: */
struct kube_ref {
	const struct api_kind *kind;
	const char *ns; /* NULL or "" for objects of the cluster */
	const char *name;
};

MUST_CHECK int kube_get(struct kube_conn *conn, const struct kube_ref *ref, json_t **ret,
			struct kube_status *reterr);
MUST_CHECK int kube_create(struct kube_conn *conn, const struct kube_ref *in, const json_t *object,
			   json_t **ret, struct kube_status *reterr);
/* PUT; the object's resourceVersion must be the one that was read. */
MUST_CHECK int kube_update(struct kube_conn *conn, const struct kube_ref *ref, const char *sub,
			   const json_t *value, json_t **ret, struct kube_status *reterr);
/* JSON merge patch; sub "status" or NULL. To lock it, put metadata.resourceVersion into the patch.
 */
MUST_CHECK int kube_merge(struct kube_conn *conn, const struct kube_ref *ref, const char *sub,
			  const json_t *patch, json_t **ret, struct kube_status *reterr);
MUST_CHECK int kube_json_patch(struct kube_conn *conn, const struct kube_ref *ref, const char *sub,
			       const json_t *ops, json_t **ret, struct kube_status *reterr);
/* Server-side apply with force. `value` holds only the fields we own, with apiVersion and kind. */
MUST_CHECK int kube_apply(struct kube_conn *conn, const struct kube_ref *ref, const char *sub,
			  const char *manager, const json_t *value, json_t **ret,
			  struct kube_status *reterr);
struct kube_delete_opts {
	const char *uid; /* preconditions; NULL: none */
	const char *resource_version;
	const char *propagation; /* "Background", "Foreground", "Orphan"; NULL: the server's */
};
MUST_CHECK int kube_delete(struct kube_conn *conn, const struct kube_ref *ref,
			   const struct kube_delete_opts *opts, struct kube_status *reterr);

/* Reads, lets `change` edit a copy, writes the difference as a merge patch locked by
 * resourceVersion; after a conflict again, five times in all. change: 1 write, 0 nothing to do,
 * negative: stop. */
MUST_CHECK int kube_edit(struct kube_conn *conn, const struct kube_ref *ref, const char *sub,
			 int (*change)(void *ctx, json_t *copy), void *ctx,
			 struct kube_status *reterr);

/* ---- streams ---- */

/* GET whose answer is taken as it comes (lists and watches). `data` returns 0 or a negative code,
 * which ends the call and is its result. `gzip` only for lists: never on a watch, whose members
 * libcurl cannot join. `idle_ns`: silence after which the peer counts as dead (0: never).
 * Cancelled by kube_conn_cancel. 0 when the answer ended; errors as kube_call. */
struct kube_stream {
	const char *path;
	bool gzip;
	uint64_t idle_ns;
	uint64_t timeout_ns; /* of all; 0: none */
	int (*data)(void *ctx, struct slice bytes);
	void *ctx;
};
MUST_CHECK int kube_stream(struct kube_conn *conn, const struct kube_stream *stream,
			   struct kube_status *reterr);
