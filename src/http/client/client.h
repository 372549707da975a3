/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HTTP calls to other servers, many at once on a loop. libcurl is loaded when the first client is
 * made. Redirects are refused unless the call says otherwise.
 *
 *	struct http_call call = { .method = "GET", .url = "https://api.example/v1", .done = f };
 *	http_client_start(client, &call);	(f is called by the loop)
 *
 * A client belongs to its loop's thread; it keeps connections between calls. A thread that waits
 * for each call has a client without a loop: http/client/sync.h. */
#pragma once

#include <stdbool.h>

#include "base/err_text.h"
#include "http/client/call.h"

struct http_client;
struct loop;

struct http_client_conf {
	unsigned kept_max; /* idle connections; 0: as host_max */
	unsigned host_max; /* calls to one host at once, others wait for their turn; 0: 16 */
	bool http2;	   /* where a server offers it over TLS: many calls on one connection */
};

/* NULL when libcurl cannot be loaded, or descriptors ran out: `err` gets a sentence. `loop` is
 * borrowed; NULL for a client whose calls are made by http/client/sync.h. */
struct http_client *http_client_new(struct loop *loop, const struct http_client_conf *conf,
				    struct err_text err);
/* Cancels what still runs. Not from a callback; NULL is fine. */
void http_client_free(struct http_client *client);

/* Starts a call; its `done` is called exactly once, from the loop, also for one that cannot even be
 * tried. On the loop's thread, not from `data` or `read_body`. */
void http_client_start(struct http_client *client, struct http_call *call);
/* Ends it at once; `done` is not called. Fine for one that does not run. As http_client_start. */
void http_client_cancel(struct http_client *client, struct http_call *call);
