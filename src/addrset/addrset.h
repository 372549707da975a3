/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Address sets: which addresses the rules for a name cover, kept where packets are judged. A DNS server
 * adds the addresses of an answer here and lets the answer go when they are in force; the node's agent
 * adds what servers ask for to the kernel.
 *
 * Glossary
 *   name id    16 bytes that stand for the name of a rule ("www.example.com", "*.example.com"): a digest
 *              of it, so that it is the same after a restart and on every node
 *   pair       a name id and an address
 *   held       the pair is in force and stays so until the time that was asked for
 *   tenant     the namespace of the client that a DNS server answers: its limits count for pairs that are new
 *
 * Threads: addrset_holds is called by any registered thread inside of an RCU read section, takes no lock
 * and makes no system call. All else is called on the thread of the back end's loop. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

enum { ADDRSET_ID_BYTES = 16 };

struct addrset_id {
	uint8_t bytes[ADDRSET_ID_BYTES];
};

struct addrset_address {
	uint8_t n;	   /* bytes: 4 or 16 */
	uint8_t bytes[16]; /* in network order; those behind the n-th are zero */
};

struct addrset_pair {
	struct addrset_id name;
	struct addrset_address address;
	uint64_t until_ns; /* clock_mono_ns: the pair is wanted until then */
};

/* The caller's memory; it and the pairs stay until `done`. */
struct addrset_request {
	const struct addrset_pair *pairs;
	size_t n_pairs;
	struct slice tenant; /* empty: nobody's limits count */
	/* Called once, perhaps before addrset_add returns. 0: all pairs are held. Negative: at least one
	 * is not (ERR_LIMIT: there are too many pairs; ERR_QUOTA: of the tenant; ERR_CLOSED: the back end
	 * ends). */
	void (*done)(struct addrset_request *request, int result);
	struct addrset_request *next; /* the back end's */
};

struct addrset;

struct addrset_ops {
	bool (*holds)(const struct addrset *set, const struct addrset_pair *pair);
	void (*add)(struct addrset *set, struct addrset_request *request);
};

/* Back ends embed it. */
struct addrset {
	const struct addrset_ops *ops;
	/* Changes whenever pairs that were held may not be any more, before their times: who remembers that
	 * a pair was held remembers this with it. NULL: that never happens. */
	const _Atomic uint32_t *age;
};

/* Of the canonical text of a name: lower case, without final dot. */
struct addrset_id addrset_id_of(struct slice name);

/* Whether all of the pairs are held, now and until their times. */
bool addrset_holds(const struct addrset *set, const struct addrset_pair *pairs, size_t n_pairs);

/* Brings the pairs into force. One that is in force already lives on until the later of both times, at
 * no moment without it. Requests of the same turn of the loop are committed together; one that fails
 * does not make others fail. */
void addrset_add(struct addrset *set, struct addrset_request *request);
