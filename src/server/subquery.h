/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sub-queries: questions that a plugin asks on behalf of the query it serves, as queries of their
 * own that run from the worker's queue. */
#pragma once

#include <stdint.h>

#include "base/compiler.h"

struct plugin_inst;
struct query;

enum sub_kind {
	SUB_SERVER,   /* through the whole server: routed anew on the same listener */
	SUB_WALK,     /* the same for an element of a search list: it and its sub-queries walk no
			 other list, and are neither logged nor counted (query.in_walk) */
	SUB_BELOW,    /* through the chain below the asking plugin */
	SUB_DETACHED, /* nobody waits, outlives its parent; starts at the asking plugin itself,
			 whose serve knows it by query_is_refresh and whose respond sees the outcome
		       */
};

enum { QUERY_SUB_DEPTH_MAX = 10 };

/* Asks another question on behalf of q: same client, flags and OPT; class IN with SUB_SERVER and
 * SUB_WALK, else q's. q is resumed when the sub-query is done (not for SUB_DETACHED): then q->sub is
 * the finished one, with outcome, rcode and resp; its records live as long as q. q need not wait for
 * it: one that finishes after q is freed without a word. 0; ERR_LIMIT beyond the depth limit or when
 * slots ran out (q->hit_limit). */
MUST_CHECK int query_sub(struct query *q, struct plugin_inst *self, enum sub_kind kind,
			 const uint8_t *name, uint16_t qtype);
