/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads many record sets from a server: a query each, a few at a time over the same connections. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/vec.h"
#include "dns/message.h"
#include "dns/tsig/record.h"
#include "provider/rfc2136/account_priv.h"
#include "provider/rfc2136/answer_priv.h"
#include "provider/rfc2136/ask_priv.h"

enum {
	RFC2136_READS_AT_ONCE = 32,
	RFC2136_WANTED_BYTES = 1024, /* prerequisites for the values of one set */
	/* A query, or an UPDATE with one prerequisite or those. */
	RFC2136_READ_BYTES =
		DNS_QUERY_MAX + DNS_NAME_MAX + 10 + RFC2136_WANTED_BYTES + DNS_TSIG_RECORD_MAX,
};

struct rfc2136_read {
	const char *name; /* borrowed */
	uint16_t type;
	/* A query also finds what a wildcard stands for. If so, whether the set itself exists is asked by
	 * a prerequisite, which changes nothing. */
	bool is_exact;
	/* Asks for ANY: shows also what else is at the name, or a part of it (RFC 8482). */
	bool shows_others;
	bool is_other; /* not the set of the edit, but one that may be in its way */
	/* Asks for the SOA that covers the name, instead: the answer has `longer_zone`. Where an alias hides
	 * it, names above are asked for. */
	bool finds_zone;
	/* No query: asks by prerequisites whether the server has exactly this set, which rfc2136_reader_fits(). They
	 * are answered by the zone that updates change, whatever queries show. */
	const struct provider_rrset *wanted;
	size_t change, edit; /* the caller's */

	struct rfc2136_answer answer;
};

struct rfc2136_reader;

struct rfc2136_reading {
	struct rfc2136_reader *reader;
	struct rfc2136_ask ask;
	size_t index; /* of its read */
	bool is_confirming;
	uint8_t name[DNS_NAME_MAX];
	uint8_t msg[RFC2136_READ_BYTES];
};

/* Set up by rfc2136_reader_init(); reads are added, then it is started. */
struct rfc2136_reader {
	struct rfc2136_account *account;
	const uint8_t *zone; /* wire form; borrowed */
	VEC(struct rfc2136_read) reads;
	uint64_t end_by_ns;
	void (*done)(struct rfc2136_reader *reader);

	/* The result. Answers lie in the arena until the next reset. */
	enum provider_code code;
	char error[PROVIDER_ERROR_BYTES];

	/* Its own: */
	struct arena arena;
	struct rfc2136_reading *slots; /* RFC2136_READS_AT_ONCE; NULL: not started */
	size_t next, n_running;
};

void rfc2136_reader_init(struct rfc2136_reader *reader, struct rfc2136_account *account);
/* Without reads. Not while it is running. */
void rfc2136_reader_reset(struct rfc2136_reader *reader);
/* Is the set small enough for rfc2136_read.wanted? */
bool rfc2136_reader_fits(const struct provider_rrset *set);
void rfc2136_reader_add(struct rfc2136_reader *reader, const struct rfc2136_read *read);
/* There is at least one read, of a name that is valid. `done` comes later, never from inside. */
void rfc2136_reader_start(struct rfc2136_reader *reader);
/* Cancels and frees. */
void rfc2136_reader_done(struct rfc2136_reader *reader);
