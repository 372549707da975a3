/* HTTP on one side, the API's dialect on the other: who asks, health, metrics, discovery, header
 * fields and streams. Handlers of an http_service; any thread, many at a time. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "apiserver/access/authenticate.h"
#include "apiserver/discovery/discovery.h"
#include "apiserver/verb/answer.h"
#include "apiserver/verb/call.h"
#include "http/service.h"

enum {
	APISERVER_WARNINGS_MAX = 8,
	APISERVER_WATCHES_MAX = 5000, /* open at a time; another one is refused (429) */
};

/* The API behind it: apiserver_serve and what belongs to it, or a test's own. */
struct apiserver_backend {
	void *ctx;
	void (*serve)(void *ctx, const struct apiserver_call *c, struct apiserver_answer *ret);
	void (*done)(struct apiserver_answer *a);
	void (*on_wake)(struct apiserver_stream *s, void (*wake)(void *ctx), void *ctx);
	ssize_t (*pull)(struct apiserver_stream *s, char *buf, size_t n);
	void (*free)(struct apiserver_stream *s);
};

/* One thing that must be so for the server to be well. */
struct apiserver_health {
	const char *name;
	bool (*ok)(void *ctx, struct strbuf *why); /* `why` gets a reason; "" is fine */
	void *ctx;
	bool ready_only; /* of /readyz: a restart would not help */
};

struct apiserver_http_front {
	const struct apiserver_authenticator *authenticator;
	struct apiserver_discovery *discovery;
	const struct apiserver_backend *backend;
	const struct apiserver_health *health; /* beside ping, which is always well */
	size_t n_health;
	unsigned max_watches; /* 0: APISERVER_WATCHES_MAX */
	atomic_uint n_watches_;
};

/* Of struct http_service_conf; ctx is the front. */
void apiserver_http_front_handle(void *front, const struct http_request *req,
				 struct http_answer *answer);
bool apiserver_http_front_is_known(void *front, const struct http_request *req);
void apiserver_http_front_busy(void *front, const struct http_request *req,
			       struct http_answer *answer);
void apiserver_http_front_too_long(void *front, const struct http_request *req,
				   struct http_answer *answer);
