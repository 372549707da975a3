/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A call that runs: its libcurl handle, and what libcurl calls back. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "http/client/call.h"
#include "http/client/libcurl_priv.h"
#include "http/client/url.h"
#include "net/loop.h"

struct http_client;
struct http_host;

struct http_transfer {
	const struct http_curl *lib;
	CURL *easy; /* NULL: not needed yet */
	struct http_client *client;
	struct http_call *call;
	struct http_transfer *next, **link; /* in the client's list */
	struct http_host *host;		    /* NULL: none yet */
	bool waits;			    /* for its turn at the host, without a handle */
	struct http_transfer *wait_next, **wait_link;
	struct loop_timer deadline;
	struct loop_timer resume; /* its reply goes on: it has waited for others of the loop */
	bool added;		  /* the multi handle has it */
	int refused;		  /* could not be tried: the code to end with */
	char *url;		  /* where a redirect led; NULL: the call's own */
	unsigned redirects;	  /* followed so far */
	struct http_url to;	  /* of the URL in use; host p NULL: it could not be read */
	struct curl_slist *headers, *connect_to;
	int socket;	     /* the last one opened for it; -1: none. It may be closed by now */
	uint64_t end_ns;     /* monotonic; HTTP_NEVER */
	uint64_t heard_ns;   /* the last byte, or the last new phase */
	uint64_t sent_bytes; /* of the body, given to libcurl */
	uint64_t got_bytes;  /* of the reply's body, decompressed */
	size_t head_bytes;
	unsigned n_headers;
	bool was_resumed;		   /* a piece of the reply is due, however late it is */
	bool requested;			   /* the request was begun on a connection */
	bool head_done;			   /* what follows are trailers */
	int callback_error;		   /* of data, read_body, or a limit */
	char reason[CURL_ERROR_SIZE];	   /* ours */
	char curl_reason[CURL_ERROR_SIZE]; /* libcurl's */
};

/* Empties the call's reply, and reads its URL or that of a redirect into `to`. ERR_CONFIG with the
 * sentence in `reason`. */
MUST_CHECK int http_transfer_aim(struct http_transfer *transfer);
/* Whether the body leaves with the request's head: it is in memory and short. */
bool http_transfer_sends_at_once(const struct http_transfer *transfer);
/* Makes libcurl call back with all that happens to the handle. */
void http_transfer_listen(struct http_transfer *transfer);
/* Whether the reply is a redirect that is not to be passed on. */
bool http_transfer_is_redirected(const struct http_transfer *transfer);
/* The longest silence that is allowed. */
uint64_t http_transfer_stall_ns(const struct http_transfer *transfer);
