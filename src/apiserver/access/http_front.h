/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The HTTP front of the API: authentication, health, metrics, discovery, header fields and streams.
 * Handlers of an http_service; any thread, many at a time. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "apiserver/access/authenticate.h"
#include "apiserver/discovery/discovery.h"
#include "apiserver/request/answer.h"
#include "apiserver/request/call.h"
#include "http/service.h"

enum {
	APISERVER_WARNINGS_MAX = 8,
	APISERVER_WATCHES_MAX = 5000, /* open at a time; another one is refused (429) */
};

/* The API behind the front: apiserver_dispatch and the functions of its answers, or a test's. */
struct apiserver_backend {
	void *ctx;
	void (*serve)(void *ctx, const struct apiserver_call *call, struct apiserver_answer *ret);
	void (*done)(struct apiserver_answer *answer);
	void (*on_wake)(struct apiserver_stream *stream, void (*wake)(void *ctx), void *ctx);
	ssize_t (*pull)(struct apiserver_stream *stream, char *buf, size_t len);
	void (*free)(struct apiserver_stream *stream);
};

/* One health check. */
struct apiserver_health {
	const char *name;
	bool (*ok)(void *ctx, struct strbuf *why); /* may append a reason to `why` */
	void *ctx;
	bool ready_only;   /* only part of /readyz: a restart would not help */
	bool by_name_only; /* only answered by name (/readyz/NAME): clients shall still come */
};

struct apiserver_http_front {
	const struct apiserver_authenticator *authenticator;
	struct apiserver_discovery *discovery;
	const struct apiserver_backend *backend;
	const struct apiserver_health *health; /* besides ping, which always passes */
	size_t n_health;
	unsigned max_watches; /* 0: APISERVER_WATCHES_MAX */
	atomic_uint n_watches;
};

/* Callbacks of struct http_service_conf; ctx is the front. */
void apiserver_http_front_handle(void *front, const struct http_request *req,
				 struct http_answer *answer);
bool apiserver_http_front_is_authenticated(void *front, const struct http_request *req);
void apiserver_http_front_busy(void *front, const struct http_request *req,
			       struct http_answer *answer);
void apiserver_http_front_too_long(void *front, const struct http_request *req,
				   struct http_answer *answer);
