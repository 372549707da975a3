/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pairs that a back end knows to be in force: any registered thread asks inside of an RCU read section,
 * one thread (the back end's loop) changes them. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addrset/addrset.h"
#include "base/rcu/rcu.h"
#include "base/rcu/rcutable.h"

/* Members below are the loop's thread's. */
struct addrset_known {
	struct rcutable_node node;
	struct rcu_item deferred;
	struct addrset_id name;
	struct addrset_address address;
	/* Others read these two: in force until then, if the age is that of the table. */
	_Atomic uint64_t until_ns;
	_Atomic uint32_t age;
	bool is_queued;	    /* the back end's: stays in the table */
	bool is_leaving;    /* the back end's: so does one that it is to remove */
	uint64_t wanted_ns; /* the back end's: what it asks for */
	void *payer;	    /* the back end's: whose limits it counts for */
};

struct addrset_known_table {
	struct rcutable pairs;
	_Atomic uint32_t age; /* pairs of an older one are forgotten */
	size_t sweep_at;
	/* A sweep takes it out of the table. NULL: nobody wants to know. */
	void (*on_removed)(struct addrset_known_table *table, struct addrset_known *known);
};

void addrset_known_init(struct addrset_known_table *table);
/* When nobody reads any more. */
void addrset_known_done(struct addrset_known_table *table);

/* The pair, or a new one that is not in force. */
struct addrset_known *addrset_known_get(struct addrset_known_table *table,
					const struct addrset_id *name,
					const struct addrset_address *address);
/* NULL: it is not in the table. */
struct addrset_known *addrset_known_find(const struct addrset_known_table *table,
					 const struct addrset_id *name,
					 const struct addrset_address *address);
/* It is in force until then. */
void addrset_known_set(struct addrset_known *known, uint64_t until_ns);
bool addrset_known_is_in_force(const struct addrset_known_table *table,
			       const struct addrset_known *known, uint64_t now_ns);
uint64_t addrset_known_until(const struct addrset_known *known);

/* All pairs are in doubt: none is held any more, until it is set again. */
void addrset_known_forget_all(struct addrset_known_table *table);
/* Frees pairs whose time is over, in a part of the table at a time so that nobody waits for it; called
 * about once a second. */
void addrset_known_sweep(struct addrset_known_table *table, uint64_t now_ns);

/* All pairs, also those whose time is over. `fn` changes none of them. */
void addrset_known_each(const struct addrset_known_table *table,
			void (*fn)(void *ctx, struct addrset_known *known), void *ctx);

/* Any thread, inside of a read section: for addrset_ops.holds. */
bool addrset_known_holds(const struct addrset_known_table *table, const struct addrset_pair *pair);
