/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job under way. Each kind of job is a file; what they share is here. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "net/loop.h"
#include "provider/provider.h"
#include "provider/rfc2136/account_priv.h"
#include "provider/rfc2136/ask_priv.h"
#include "provider/rfc2136/reader_priv.h"

struct rfc2136_call {
	struct rfc2136_account *account;
	struct provider_job *job;
	struct loop_timer later; /* ends it, in a later turn */
	uint8_t zone[DNS_NAME_MAX];
	struct rfc2136_ask ask;
	struct rfc2136_reader reader;

	uint8_t query[DNS_QUERY_MAX + DNS_TSIG_RECORD_MAX]; /* for an SOA record */

	/* PROVIDER_FIND_ZONES: */
	uint8_t name[DNS_NAME_MAX]; /* whose SOA is asked for */

	/* PROVIDER_APPLY: */
	size_t n_owned; /* reads for guards that depend on a mark; those of zones follow */
	uint8_t *msg;	/* heap */
	uint8_t *owned; /* heap: enum rfc2136_owned of each edit; NULL: no guard needs it */
	size_t n_sent;	/* changes of the message */
	/* Edits of it whose names belong to zones below: to be removed again. */
	VEC(const struct provider_edit *) misplaced;
};

/* Frees it and calls the job's `done`. From the loop only. */
void rfc2136_call_end(struct rfc2136_call *call);
/* The same in a later turn. */
void rfc2136_call_end_later(struct rfc2136_call *call);

/* The kinds of jobs. */
void rfc2136_find_zone(struct rfc2136_call *call);
void rfc2136_read_sets(struct rfc2136_call *call);
void rfc2136_apply(struct rfc2136_call *call);
void rfc2136_settle(struct rfc2136_call *call);
void rfc2136_read_serial(struct rfc2136_call *call);

/* Reads for the sets that the first `count` changes of the job write. */
void rfc2136_settle_add_reads(struct rfc2136_call *call, size_t count);
