/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The publisher brings record sets to providers. Callers submit requests and return; the publisher
 * decides when which of them go into which call, and calls `done` when the provider has them.
 *
 *	publisher_account_open(publisher, &conf, &account, err);
 *	request->account = account;
 *	request->edits = &edit;
 *	publisher_submit(publisher, request);	... later: request->done(request)
 *
 * - Requests for one zone that come within a few milliseconds go in one call; a single one waits
 *   PUBLISHER_QUIET_MS. What waits for a zone that is busy, or for the account's turn, joins them.
 * - Requests for one name are carried out in the order in which they were submitted.
 * - A batch that fails because of some of its changes is taken apart: the others succeed.
 * - Calls of an account follow its rate, which adapts to throttling; accounts do not wait for each
 *   other. New work goes before periodic work.
 * - Throttling and passing faults are tried again until the request is cancelled or its patience is
 *   over. A reply that was lost is looked up before anything is written again.
 * - No call begins, or goes on, when the lease has ended.
 *
 * Everything on the thread of the loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "provider/provider.h"

struct lookup_client;
struct loop;
struct publisher;
struct publisher_account;
struct publisher_entry;

enum {
	PUBLISHER_QUIET_MS = 20,   /* a batch is sent when no request came for so long */
	PUBLISHER_WINDOW_MS = 250, /* and at the latest after this time */
	PUBLISHER_LEASE_MARGIN_MS =
		1000, /* a call needs at least so much time before the lease's end */
	PUBLISHER_PERIODIC_MAX_S = 30, /* periodic work that waits longer is as urgent as any */
	PUBLISHER_IDLE_S = 600,	       /* an unused account is closed after this time */
	/* An accepted change takes effect within this time, or is doubtful. Less than the engine's limit for
	 * work, so that the request ends with the reason. */
	PUBLISHER_SETTLE_S = 50,
};

enum publisher_priority {
	PUBLISHER_NOW,	    /* an object was created, changed or deleted */
	PUBLISHER_PERIODIC, /* a check whether all is as it should be */
};
enum { PUBLISHER_PRIORITIES = PUBLISHER_PERIODIC + 1 };

/* In the caller's memory; stays where it is until `done` was called or it was cancelled. Zero it and
 * fill the first part. */
struct publisher_request {
	/* Copied by publisher_submit(): */
	struct publisher_account *account;
	const char *zone; /* its id; NULL: the zone of the first edit's name is searched */
	const struct provider_edit *edits; /* all in one zone; 1 to PROVIDER_EDITS_MAX */
	size_t n_edits;
	enum publisher_priority priority;
	/* `zone` is compared with the account's zones: if the first edit's name belongs to a longer one, the
	 * request ends with PROVIDER_OTHER_ZONE. */
	bool checks_zone;
	/* An earlier request for the same was sent, and nobody knows what became of it (a restart): if the
	 * provider has what is wanted, it is taken for ours. */
	bool maybe_applied;
	/* When this time is over, it ends with the code and the sentence of what it waits for: throttled,
	 * transient, unsure. A call that is under way is waited for. 0: never. */
	uint64_t patience_ns;
	/* Nothing is written: the result is what a write would meet. PROVIDER_OK, or PROVIDER_CONFLICT where a
	 * guard does not hold, both with `found`. */
	bool only_reads;

	/* The first call for it begins; may be NULL. */
	void (*sent)(struct publisher_request *request);
	void (*done)(struct publisher_request *request);

	/* The result: */
	enum provider_code
		code; /* PROVIDER_OK: the provider has it; deletions also when nothing was there */
	bool is_zone_missing; /* PROVIDER_OK of a deletion: there is no such zone any more */
	char *error;	      /* a sentence without secrets; NULL when OK */
	char *zone_id;	      /* the zone that was used; NULL: none was found */
	char *other_zones;    /* ids of further zones of the same name; NULL: none */
	/* `only_reads`: as many sets as edits, in their order; those without values are missing. NULL: they
	 * were not read. */
	struct provider_rrset *found;
	size_t n_found;

	struct publisher_entry *entry; /* the publisher's; NULL: not under way */
};

struct publisher_conf {
	struct loop *loop;	       /* borrowed */
	struct lookup_client *lookups; /* as that of struct provider_account_conf */
	/* By when (clock_mono_ns) everything must have ended, as lease_end_by_ns() says; NULL: no lease. */
	uint64_t (*lease_end_by)(void *ctx);
	void *ctx;
};

struct publisher *publisher_new(const struct publisher_conf *conf);
/* Cancels all calls; `done` of no request is called, and references to accounts are void. Not from a
 * callback. NULL is fine. */
void publisher_free(struct publisher *publisher);

struct publisher_account_conf {
	const struct provider *provider;
	const struct provider_credential *credentials; /* copied where needed */
	size_t n_credentials;
	const char *region; /* "" or NULL: not set */
};
/* Finds or opens the account of these credentials; a reference for the caller. ERR_CONFIG. */
MUST_CHECK int publisher_account_open(struct publisher *publisher,
				      const struct publisher_account_conf *conf,
				      struct publisher_account **ret, struct err_text err);
void publisher_account_unref(struct publisher_account *account); /* NULL is fine */
/* Does it keep the `owner` of sets? Otherwise that is not written, and PROVIDER_GUARD_OWNED means the
 * same as PROVIDER_GUARD_EQUAL, or as PROVIDER_GUARD_ABSENT where `before` has no values. */
bool publisher_account_has_owner_mark(const struct publisher_account *account);
/* The TSIG key that it shares with its server; NULL: it has none. As long as the account is held. */
const struct dns_tsig_key *publisher_account_tsig_key(const struct publisher_account *account);

/* `done` is called later, by the loop, never from inside. */
void publisher_submit(struct publisher *publisher, struct publisher_request *request);
/* Forgets it: `done` is not called. If it was sent already, the provider may still apply it, and
 * later requests for the same name wait for that. Fine for one that is not under way. */
void publisher_cancel(struct publisher *publisher, struct publisher_request *request);
/* Frees the result. Not while it is under way. */
void publisher_request_release(struct publisher_request *request);
