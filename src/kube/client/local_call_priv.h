/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls to the API server of this machine by its socket, without libcurl: a request is one send, the
 * reply to a write one receive. That is a third of the CPU of a controller that writes much, and libcurl
 * with its libraries would take 4 MB. For one thread at a time; only kube_local_wake is for others. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"

struct http_call;
struct kube_local;

/* NULL when descriptors ran out: `err` gets a sentence. */
struct kube_local *kube_local_new(struct err_text err);
void kube_local_free(struct kube_local *local); /* NULL is fine */
/* As http_sync_call (http/client/sync.h), for a call with `unix_path`, `data` and a body in memory;
 * replies are never compressed. The connection is kept for the next one. Of the time-outs `stall_ns` and
 * `timeout_ns` count, neither has a default. */
MUST_CHECK int kube_local_call(struct kube_local *local, struct http_call *call,
			       const _Atomic bool *stop);
/* As http_sync_sleep. */
MUST_CHECK int kube_local_sleep(struct kube_local *local, uint64_t ns, const _Atomic bool *stop);
/* A call under way looks at its `stop` now. */
void kube_local_wake(struct kube_local *local);
