/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests to a Kubernetes API server, for threads that may block. This header includes those of
 * connections, objects, statuses and streams.
 *
 * Glossary
 *   client  address and credentials of an API server; shared by all threads
 *   conn    one thread's connection (keep-alive); each thread that calls has its own (conn.h)
 *   status  the server's reason for refusing a request (status.h)
 *
 * Requests answered by 429 or 5xx with Retry-After are repeated after that time, up to ten times; a
 * GET also after a reset connection, once. On 401 the token is read again and the request repeated
 * once. Credentials are never logged. libcurl is loaded when the first conn is made. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "kube/client/conn.h"
#include "kube/client/object.h"
#include "kube/client/status.h"
#include "kube/client/stream.h"

struct kube_client;
struct kube_config;

/* Takes ownership of the configuration. */
struct kube_client *kube_client_new(struct kube_config *config);
/* After its conns. */
void kube_client_free(struct kube_client *client);
/* For people: "https://10.0.0.1:6443 (context 'prod' of /home/me/.kube/config)". */
const char *kube_client_text(const struct kube_client *client);
/* Is the API server reached by a socket of this machine? */
bool kube_client_is_local(const struct kube_client *client);
/* Borrowed; its functions may be called from any thread. */
struct kube_config *kube_client_config(const struct kube_client *client);

struct kube_request {
	const char *method;
	const char *path;	  /* with query; escaped */
	const json_t *body;	  /* or NULL */
	struct slice raw;	  /* body as bytes instead */
	const char *content_type; /* NULL: application/json */
	const char *accept;	  /* NULL: application/json */
	bool identity; /* the answer may lack all but apiVersion, kind and metadata, and managedFields */
	struct strbuf
		*answer_text; /* gets the answer as it came, an object, appended; may be NULL */
	uint64_t timeout_ns;  /* of all attempts and the waits between them; 0: 60 s */
};

enum {
	KUBE_ANSWER_MAX_BYTES = 16 << 20, /* of kube_call; decoded. Lists are for kube_stream */
	KUBE_ERROR_MAX_BYTES = 64 << 10,  /* of a refusal, what is beyond is dropped */
	KUBE_RETRIES_MAX = 10,
	KUBE_RETRY_AFTER_MAX_S = 60, /* beyond which ERR_BUSY is returned at once */
};

/* One request. *ret (may be NULL) is the decoded answer. Errors: ERR_NOTFOUND (404), ERR_DUPLICATE
 * (409 AlreadyExists), ERR_CONFLICT (other 409), ERR_GONE (410), ERR_CONFIG (400, 422: refused as
 * invalid), ERR_DENIED (401, 403), ERR_BUSY (429, 503), ERR_TIMEOUT (also 504), -ECANCELED,
 * ERR_CLOSED (network), ERR_TLS (no handshake: one side does not trust the other, or it was cut),
 * ERR_PARSE, ERR_LIMIT, ERR_INTERNAL (other 5xx), ERR_UNSUPPORTED (other 4xx). `reterr` (may be NULL) has the details. It
 * needs no initialising; kube_status_done it after each call, also one that succeeded. */
MUST_CHECK int kube_call(struct kube_conn *conn, const struct kube_request *request, json_t **ret,
			 struct kube_status *reterr);
