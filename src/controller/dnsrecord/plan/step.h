/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The next request to the provider for a DNSRecord, and what its result means for status.state. A
 * change is written down (attempt) before it is sent, so that after any end it is known which record
 * sets may exist. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "controller/dnsrecord/plan/record.h"

enum dnsrecord_step_kind {
	DNSRECORD_NO_STEP,	 /* nothing is left to do */
	DNSRECORD_PUT_WANTED,	 /* what the spec asks for */
	DNSRECORD_PUT_ATTEMPT,	 /* what it asked for when it was last written: it may be there */
	DNSRECORD_DROP_LEFTOVER, /* the set in the zone of before */
	DNSRECORD_DROP_ATTEMPT,
	DNSRECORD_DROP_APPLIED,
};

struct dnsrecord_rules {
	bool is_drop_in; /* overwrites and deletes what others wrote, as Gardener's extensions do */
	bool is_restore; /* the record set is that of another control plane */
	bool may_be_gone; /* what was written is not there as it was: it may be missing */
	/* The previous zone is missing, or the name belongs to a longer one by now: sets are put where one is found
	 * (DR-20). */
	bool searches_zone;
};

enum { DNSRECORD_STEP_EDITS = 2 };

struct dnsrecord_step {
	enum dnsrecord_step_kind kind;
	const char *zone; /* NULL: it is searched */
	struct provider_edit edits[DNSRECORD_STEP_EDITS];
	size_t n_edits;
	bool maybe_applied, checks_zone; /* as those of struct publisher_request */
	/* A conflict may mean that the set is missing: try again with `may_be_gone`. */
	bool has_second_try;
};

void dnsrecord_next_step(const struct dnsrecord *record, bool withdraws,
			 const struct dnsrecord_rules *rules, struct dnsrecord_step *ret);

/* All steps that are still before a DNSRecord, as far as is known now: what an attempt of before left is
 * taken for what is wanted. Returns how many there are. */
enum { DNSRECORD_STEPS_AHEAD = 3 };
size_t dnsrecord_steps_ahead(const struct dnsrecord *record, bool withdraws,
			     const struct dnsrecord_rules *rules,
			     struct dnsrecord_step ret[DNSRECORD_STEPS_AHEAD]);

/* The provider has answered that the zone is missing, or that the name belongs to a longer one: is
 * another one searched? */
bool dnsrecord_can_search_zone(const struct dnsrecord *record, const struct dnsrecord_step *step,
			       enum provider_code code);

/* What status.state and status.zone become. */
struct dnsrecord_known {
	const struct dnsrecord_set *attempt, *applied, *leftover; /* NULL: none */
	const char *zone;					  /* NULL: none */
};

/* Before the first step: as the object has it, with what is wanted as the attempt. */
struct dnsrecord_known dnsrecord_begin_known(const struct dnsrecord *record, bool withdraws);
/* The step waits for a provider that cannot be reached. `is_sent`: it may have been written before. An
 * object of which nothing was ever sent has no attempt then, so that its deletion needs no provider (DR-47,
 * DR-49): before it is sent, the attempt must be written down again. */
struct dnsrecord_known dnsrecord_waiting_known(const struct dnsrecord *record, bool withdraws,
					       bool is_sent);
/* The step has succeeded in that zone. `arena` gets what is new. */
struct dnsrecord_known dnsrecord_succeeded_known(const struct dnsrecord *record,
						 const struct dnsrecord_step *step,
						 const char *zone, struct arena *arena);
/* The provider refused it, and nothing of it was written at any time. */
struct dnsrecord_known dnsrecord_refused_known(const struct dnsrecord *record,
					       const struct dnsrecord_step *step);
