/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many calls run to each host at once, and those that wait for their turn: libcurl would hold
 * 13 KB for each of these, and walk all of them whenever a call ends. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct http_host;
struct http_transfer;

/* The hosts with calls that run or wait; others are forgotten. Zeroed: none. */
struct http_host_queue {
	struct http_host *hosts;
	unsigned max; /* calls to one host at once */
};

/* Whether the transfer (its `to` is set) may run now; else it waits behind others of its host. */
bool http_host_enter(struct http_host_queue *queue, struct http_transfer *transfer);
/* It has ended, whether it ran or waited. The transfer that may run in its place, or NULL; that one
 * is in its host already. */
struct http_transfer *http_host_leave(struct http_host_queue *queue,
				      struct http_transfer *transfer);
