/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The client's own data, for the two ways to drive it: a loop, or the thread that waits. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "http/client/host_queue_priv.h"
#include "http/client/libcurl_priv.h"
#include "http/client/transfer_priv.h"
#include "net/loop.h"

struct http_client {
	const struct http_curl *lib;
	CURLM *multi;
	struct loop *loop; /* NULL: http/client/sync.c drives it */
	bool http2;
	bool inside; /* libcurl runs: its handles cannot be added or removed */
	bool closing;
	struct loop_timer timer; /* libcurl's */
	struct http_transfer *transfers;
	struct http_host_queue hosts;
	VEC(CURL *) idle; /* handles to use again */
	unsigned idle_max;
};

/* Ends the calls that libcurl is done with. */
void http_client_take_results(struct http_client *client);
/* When the transfer is due for a check at the latest; HTTP_NEVER: never. */
uint64_t http_client_deadline(const struct http_transfer *transfer, uint64_t now);
/* Ends its call if that time has come, or if it could not be tried; else false. */
bool http_client_end_late(struct http_transfer *transfer, uint64_t now);
