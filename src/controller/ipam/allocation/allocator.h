/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which addresses of each pool are free, in memory, for all workers of the controller. The API's
 * objects are the truth: an address is in use while an IPAddress object has it, and this table is
 * rebuilt from them. Between "taken here" and "seen in the API" an address is reserved for its
 * claim, so that no other claim gets it and a repeated attempt of the same claim gets it again.
 * An address that is in use or reserved is so in all pools of its network (network.h). Pools of prefixes
 * allocate blocks of addresses (block.h); what is said of an address here holds for these.
 * Every operation is O(log n) in the number of addresses and O(n) in that of pools which share addresses with
 * the pool, except setting a pool and entering its claims.
 *
 * Any thread. `ctx` is handed to the functions of `struct ipam_used`, which are called with the
 * allocator's lock held and must not call it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "controller/ipam/allocation/block.h"

struct ipam_allocator;
struct ipam_pool_spec;

typedef void (*ipam_object_fn)(void *arg, const char *pool, struct ipam_block block);

/* Where the IPAddress objects are looked up. */
struct ipam_used {
	/* Calls `fn` with the pool of each object that has this very block, until it returns false. */
	void (*each_with)(void *ctx, struct ipam_block block,
			  bool (*fn)(void *arg, const char *pool), void *arg);
	/* Calls `fn` with each address of the pool's objects; `pool` NULL: of all objects. */
	void (*each)(void *ctx, const char *pool, ipam_object_fn fn, void *arg);
	/* Calls `fn` with each claim of the pool that needs an address and may get one. */
	void (*each_open)(void *ctx, const char *pool,
			  void (*fn)(void *arg, const char *claim, int64_t created_s), void *arg);
	/* An address came free: this claim is the next in turn. */
	void (*wake)(void *ctx, const char *claim);
	/* The pool has, or had, addresses in common with one that was set or dropped, or an address that an object of an
	 * unknown pool has, too. */
	void (*overlap)(void *ctx, const char *pool);
};

struct ipam_allocator *ipam_allocator_new(const struct ipam_used *used);
void ipam_allocator_free(struct ipam_allocator *allocator);

/* Adds the pool, or replaces its usable addresses and its network. `spec` NULL: it is invalid; its objects
 * and reservations count, and no claim gets an address of it. Wakes waiting claims that can be served now. */
void ipam_allocator_set_pool(struct ipam_allocator *allocator, void *ctx, const char *pool,
			     const char *network, const struct ipam_pool_spec *spec);
/* Makes the pool's open claims wait, unless there are enough free addresses for all of them. To be called
 * before any of them may take one: after a start or a pause nobody waits yet, and whichever asks first
 * would be served first. O(n log n) in the number of claims. */
void ipam_allocator_enter_claims(struct ipam_allocator *allocator, void *ctx, const char *pool);
/* Forgets the pool with its reservations and waiting claims. Objects that are left count in the unnamed
 * network. */
void ipam_allocator_drop_pool(struct ipam_allocator *allocator, void *ctx, const char *pool);
/* An object with this address was added or deleted; which of the two is looked up. */
void ipam_allocator_note(struct ipam_allocator *allocator, void *ctx, const char *pool,
			 struct ipam_block block);
/* Does an address that one of the pools has in use count for the other? */
bool ipam_allocator_share_network(struct ipam_allocator *allocator, const char *left,
				  const char *right);

/* Calls `fn` with the blocks of other sizes that are in use or reserved in the pool's network and have addresses
 * of this one. `fn` must not call the allocator. */
void ipam_allocator_each_touching(struct ipam_allocator *allocator, const char *pool,
				  struct ipam_block block, ipam_blocks_fn fn, void *arg);

/* Another pool, and its lowest address that is in common. */
typedef void (*ipam_overlap_fn)(void *arg, const char *pool, union net_addr first);

/* Calls `fn` with each other pool of the network that has usable addresses of this one. The sets are kept: no spec is read
 * for it. `fn` must not call the allocator. */
void ipam_allocator_each_overlap(struct ipam_allocator *allocator, const char *pool,
				 ipam_overlap_fn fn, void *arg);

enum ipam_take {
	IPAM_TAKEN,	/* reserved for the claim */
	IPAM_EXHAUSTED, /* none is free, or earlier claims wait for those; the claim waits in turn */
	IPAM_NO_POOL,	/* the pool is not set, or invalid */
};

/* The lowest free address of the pool, or the one that is reserved for the claim already. Claims wait
 * in the order of their age: `created_s` is their creationTimestamp, claims of one second follow
 * each other by name. What the claim has in another pool is dropped, as by the next function, and so is a
 * block of another size or family, which a previous pool of this name had. */
enum ipam_take ipam_allocator_take(struct ipam_allocator *allocator, void *ctx, const char *pool,
				   const char *claim, int64_t created_s, net_ip_number *ret);
/* The claim is one of this pool: drops the reservation or the turn that one of its name has in another
 * pool. Claims do not change their pool, but may be deleted and made anew before a pass sees it. */
void ipam_allocator_leave_others(struct ipam_allocator *allocator, void *ctx, const char *pool,
				 const char *claim);
/* The claim needs no address any more, or has one that the watch shows: drops its reservation or its turn,
 * in whichever pool. */
void ipam_allocator_forget(struct ipam_allocator *allocator, void *ctx, const char *claim);
