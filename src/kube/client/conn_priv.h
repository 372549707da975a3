/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One exchange over a connection, without retries: kube_call and kube_stream are made of these. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "http/client/call.h"
#include "kube/client/conn.h"

struct http_client;
struct kube_client;
struct kube_local;
struct kube_tls;

enum { KUBE_WARNINGS_MAX_BYTES = 4096 };

struct kube_conn {
	struct kube_client *client;
	/* One of these keeps the connection between two exchanges. */
	struct http_client *http;
	struct kube_local *local; /* to the socket of a server on this machine */
	struct kube_tls *tls;	  /* that the connection was made with */
	bool tls_suspect;	  /* no answer, or a 401: read the files again */
	_Atomic bool cancelled;
	struct kube_write_limit *writes; /* of its writes; NULL: none */
	bool patient;			 /* its writes are held back sooner */
	struct strbuf warnings;
};

/* A request (filled by the caller) and its answer. Zero it first, kube_exchange_done at last. */
struct kube_exchange {
	const char *method;
	const char *path;
	struct slice body;	  /* p NULL: none */
	const char *content_type; /* of the body */
	const char *accept;	  /* NULL: application/json */
	bool gzip;
	struct slice token;
	uint64_t end_ns;  /* give up then; 0: never */
	uint64_t idle_ns; /* give up after such a silence; 0: never */
	/* For the body of a 2xx; 0 or the code that ends the exchange. */
	int (*data)(void *ctx, struct slice bytes);
	/* Before the body is given again, from its start; NULL: that cannot be. */
	void (*restart)(void *ctx);
	void *ctx;

	int code;	/* of HTTP; 0: none came */
	bool got_bytes; /* of a 2xx's body */
	bool has_retry_after;
	unsigned retry_after_s;
	char audit_id[64];
	struct strbuf error_body;     /* of others */
	bool reset;		      /* the connection broke, or none was made by it in time */
	char error[HTTP_ERROR_BYTES]; /* with the server's address */
};

/* 0 when an answer came, whatever its code. Errors: ERR_TIMEOUT, -ECANCELED, ERR_CLOSED, ERR_TLS,
 * ERR_PARSE (not HTTP), or what `data` said. `error` has the text. */
MUST_CHECK int kube_conn_exchange(struct kube_conn *conn, struct kube_exchange *exchange);
/* Puts the server's address in front of `error`, which came from reading credentials. */
void kube_exchange_name_server(struct kube_exchange *exchange, const struct kube_client *client);
void kube_exchange_done(struct kube_exchange *exchange);
/* -ECANCELED at once when cancelled meanwhile, else 0 when the time is over. */
MUST_CHECK int kube_conn_sleep(struct kube_conn *conn, uint64_t ns);
