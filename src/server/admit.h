/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From received bytes to a running query; shared by UDP and TCP. Private to server/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct query;

enum admit_result {
	ADMIT_SERVE, /* admit_serve(q) is next */
	ADMIT_BARE,  /* reply_bare with q->rcode, then release */
	ADMIT_NONE,  /* no reply, release */
};

/* Parses and routes; the first pass over a batch. q->gen is set and counted when ADMIT_SERVE. */
enum admit_result admit_parse(struct query *q, unsigned char *msg, size_t len);
/* Runs the chain, or refuses; the second pass. */
void admit_serve(struct query *q);
