/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A batch: entries of one zone on their way to the provider, until each of them has its result. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/loop.h"
#include "provider/account_turn_priv.h"
#include "provider/shared/bisect.h"
#include "provider/call_priv.h"
#include "provider/publisher.h"

struct publisher_entry;
struct publisher_zone;

enum batch_step {
	BATCH_READ,   /* what is there: the provider has no guards of its own */
	BATCH_WRITE,  /* writes the row, or a part of it */
	BATCH_VERIFY, /* a reply was lost: was the write applied? */
	BATCH_CHECK,  /* a conflict: with what? */
	BATCH_SETTLE, /* accepted: waits until it has taken effect */
};

enum { BATCH_TELLTALES = 3 };

struct publisher_batch {
	struct publisher_batch *next, *prev; /* of the account */
	struct publisher_zone *zone;
	struct account_turn turn;
	struct publisher_call call;
	struct loop_timer timer; /* the next attempt */
	enum batch_step step;
	struct publisher_entry **row;	 /* those without a result */
	struct provider_change *changes; /* of the row */
	size_t n;
	size_t tried;			   /* of the row, in this call */
	size_t n_read;			   /* BATCH_READ: of the row, so far */
	size_t telltales[BATCH_TELLTALES]; /* BATCH_VERIFY: of the row, to be read */
	size_t n_telltales;
	bool is_writer; /* counts in its zone */
	bool is_bisecting;
	struct provider_bisect bisect;
	enum provider_code bad_code; /* of the last write with a bad change */
	char bad_error[PROVIDER_ERROR_BYTES];
	bool was_answered;	  /* by the last write, which was PROVIDER_UNSURE */
	unsigned unapplied;	  /* writes that were answered so, and were not applied */
	uint64_t accepted_before; /* by the zone, when the first of them failed */
	unsigned attempts;	  /* that have failed one after the other */
	unsigned denied;	  /* PROVIDER_UNAUTHORIZED one after the other */
	char *settle_token;
	uint64_t settle_by_ns;
};

/* In the account's turn: takes what the zone has ready, and makes the first call. */
void batch_begin(struct publisher_zone *zone);
/* The same for an entry that no other accompanies; it is in no list. */
void batch_begin_alone(struct publisher_entry *entry);
/* Cancels its call and frees it with its entries; their requests are left alone. */
void batch_abort(struct publisher_batch *batch);

/* ---- between batch.c and batch_result.c ---- */

/* Do guards depend on what is there? */
bool batch_needs_read(const struct publisher_batch *batch);
/* A further one for entries that leave this one; takes them over. */
struct publisher_batch *batch_new(struct publisher_zone *zone, enum batch_step step,
				  struct publisher_entry **entries, size_t count);
/* Makes the next call in a later turn; frees it when the row is empty. */
void batch_go_on(struct publisher_batch *batch);
/* The same after a pause. */
void batch_retry(struct publisher_batch *batch, uint64_t pause_ns);
/* Takes the entry out of the row; the others keep their order once batch_close_gaps() was called. */
struct publisher_entry *batch_extract(struct publisher_batch *batch, size_t index);
void batch_close_gaps(struct publisher_batch *batch);
/* The call of the present step has its result. */
void batch_result(struct publisher_batch *batch);
