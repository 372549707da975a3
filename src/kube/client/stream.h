/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers that are read while they arrive: lists and watches. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"

struct kube_conn;
struct kube_status;

/* GET whose answer is taken as it comes (lists and watches). `data` returns 0 or a negative code,
 * which ends the call and is its result. `gzip` only for lists: never on a watch, whose members
 * libcurl cannot join. `idle_ns`: silence after which the peer counts as dead (0: never).
 * Cancelled by kube_conn_cancel. 0 when the answer ended; errors as kube_call. */
struct kube_stream {
	const char *path;
	const char *accept; /* NULL: application/json */
	bool gzip;
	uint64_t idle_ns;
	uint64_t timeout_ns; /* of all; 0: none */
	int (*data)(void *ctx, struct slice bytes);
	void *ctx;
};
MUST_CHECK int kube_stream(struct kube_conn *conn, const struct kube_stream *stream,
			   struct kube_status *reterr);
