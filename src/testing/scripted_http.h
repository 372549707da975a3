/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An HTTP server for tests of clients, on loopback, plain or with TLS. It knows each call that a test
 * expects, records all, and ends the test when there was one that it does not know, or one that it
 * knows did not come.
 *
 *	struct scripted_http *s = scripted_http_new(NULL);
 *	scripted_http_expect(s, &(struct scripted_call){
 *		.line = "PATCH /zones/a", .header = "X-API-Key: k", .body = "{}",
 *		.reply = { .status = 429, .headers = "Retry-After: 2\r\n" } });
 *	... let the client call scripted_http_url(s) ...
 *	scripted_http_free(s);
 *
 * Faults are those of struct fakeapi_reply: no answer (hang_first), a reset (cut_at, reset), half a
 * body (cut_at, close), silence in the middle (cut_at, hang), any status, any bytes (raw). */
#pragma once

#include <stddef.h>

#include "testing/fake_api.h"

struct scripted_http;

/* Calls may come in any order; of several with the same line the first unused one counts. */
struct scripted_call {
	const char *line;   /* method and target: "GET /a?b=c" */
	const char *header; /* one that must be there: "Name: value"; NULL: none */
	const char *body;   /* all of it; NULL: any */
	unsigned times;	    /* 0: once */
	struct fakeapi_reply reply;
};

struct scripted_http *scripted_http_new(const struct fakeapi_tls *tls); /* NULL: plain HTTP */
/* Aborts, with the differences on standard error, unless all went by the script or the test has
 * asked for the differences. */
void scripted_http_free(struct scripted_http *script);
/* "http://127.0.0.1:PORT" */
const char *scripted_http_url(const struct scripted_http *script);
/* Texts are copied. */
void scripted_http_expect(struct scripted_http *script, const struct scripted_call *call);

/* The record: how many calls and connections came, and the i-th call, head and body (waits for it).
 */
size_t scripted_http_calls(struct scripted_http *script);
size_t scripted_http_connections(struct scripted_http *script);
const char *scripted_http_call(struct scripted_http *script, size_t index);
/* A line for each call that is not in the script, differs from it, or has not come; "" for none. */
const char *scripted_http_differences(struct scripted_http *script);
