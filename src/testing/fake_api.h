/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An API server for tests: on loopback, plain or with TLS, with answers by script. Each request
 * takes the next answer, whatever it asks; when the script is at its end all get 200 and `{}`.
 *
 *	struct fakeapi *f = fakeapi_new(NULL);
 *	fakeapi_push(f, &(struct fakeapi_reply){ .status = 429, .headers = "Retry-After: 0\r\n" });
 *	... let the client call fakeapi_port(f) ...
 *	assert_non_null(strstr(fakeapi_request(f, 0), "GET /x "));
 *	fakeapi_free(f); */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fakeapi;

/* PEM files. */
struct fakeapi_tls {
	const char *cert, *key;
	const char *client_ca; /* clients must show a certificate by it; NULL: need not */
};

struct fakeapi_reply {
	int status;	     /* 0: 200 */
	const char *headers; /* further ones, each with its line end; NULL: none */
	const char *body;    /* NULL: {} */
	size_t body_n;	     /* 0: up to its NUL */
	const char *raw;     /* instead of all the above; NULL */
	unsigned repeat;     /* gives the body so often; 0: once */
	size_t cut_at;	     /* closes after so many bytes of all; 0: never */
	bool reset;	     /* ... with a reset */
	bool hang;	     /* stays silent then, until the client goes */
	bool hang_first;     /* sends nothing at all */
	bool close;	     /* closes after the answer */
};

struct fakeapi *fakeapi_new(const struct fakeapi_tls *tls); /* NULL: plain HTTP */
void fakeapi_free(struct fakeapi *fakeapi);
uint16_t fakeapi_port(const struct fakeapi *fakeapi);
/* "https://127.0.0.1:PORT" */
const char *fakeapi_url(const struct fakeapi *fakeapi);
/* Texts are copied. */
void fakeapi_push(struct fakeapi *fakeapi, const struct fakeapi_reply *reply);

/* Answers by a function instead of the script: it fills *ret, whose texts it keeps until the next
 * call. Called on the server's threads, one at a time. Before the first request. */
void fakeapi_set_chooser(struct fakeapi *fakeapi,
			 void (*choose)(void *ctx, const char *request, struct fakeapi_reply *ret),
			 void *ctx);

/* How many whole requests have come, and connections. */
size_t fakeapi_requests(struct fakeapi *fakeapi);
size_t fakeapi_connections(struct fakeapi *fakeapi);
/* The i-th request, head and body; waits until it is there. Lives as long as `f`. */
const char *fakeapi_request(struct fakeapi *fakeapi, size_t index);
