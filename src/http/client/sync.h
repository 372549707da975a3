/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HTTP calls that their thread waits for, one at a time, on a client without a loop: a loop would
 * cost each such thread two descriptors and libcurl's table of sockets (40 KB). */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "http/client/call.h"

struct http_client;

/* Makes the call (its `done` may be NULL) and returns its `result`. -ECANCELED at once when `stop` is
 * set and http_sync_wake called by another thread; NULL: nobody will. */
MUST_CHECK int http_sync_call(struct http_client *client, struct http_call *call,
			      const _Atomic bool *stop);
/* 0 when the time is over, -ECANCELED as above. */
MUST_CHECK int http_sync_sleep(struct http_client *client, uint64_t ns, const _Atomic bool *stop);
/* From any thread: makes a call or sleep under way look at its `stop`. */
void http_sync_wake(struct http_client *client);
