/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The entries of one zone that wait to be sent, and when a batch of them is due. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "net/loop.h"
#include "provider/account_turn_priv.h"
#include "provider/entry_priv.h"
#include "provider/zone_serial.h"

struct publisher_account;

struct publisher_zone {
	struct publisher_account *account;
	char *id;
	struct account_turn turn; /* to begin a batch */
	struct loop_timer window;
	struct entry_list ready[PUBLISHER_PRIORITIES];
	uint64_t first_ns;  /* when the first of `ready` came */
	bool is_due;	    /* they have waited long enough */
	unsigned n_writing; /* batches under way */
	/* Sent alone, between batches; provider/suspect_priv.h: */
	struct map suspects; /* by name: struct zone_suspect */
	struct entry_list alone;
	struct loop_timer alone_timer; /* the next of them is due */
	bool was_alone;		       /* the last call began with one of them */
	uint64_t n_accepted;	       /* changes, so far */
	uint64_t writes; /* by us, that surely raised the serial (provider/zone_serial.h) */
	struct zone_serial serial;
	uint64_t serial_ns; /* when that was asked for; 0: never */
};

struct publisher_zone *zone_queue_new(struct publisher_account *account, const char *zone_id);
/* Frees entries, too; their requests are left alone. */
void zone_queue_free(struct publisher_zone *zone);

/* The entry is in no list; also for one that a batch had taken and that is to be sent again. */
void zone_queue_add(struct publisher_zone *zone, struct publisher_entry *entry);
/* The next for a batch, urgent ones first; NULL: none. Stays there until zone_queue_take(). */
struct publisher_entry *zone_queue_first(const struct publisher_zone *zone);
void zone_queue_take(struct publisher_zone *zone, struct publisher_entry *entry);
/* A batch has ended: the next may begin. */
void zone_queue_written(struct publisher_zone *zone);
/* Fails all that no batch has taken. */
void zone_queue_fail(struct publisher_zone *zone, enum provider_code code, const char *error);
