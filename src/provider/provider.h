/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The interface of DNS providers: Route 53, an RFC 2136 server, memory. A provider is one folder and
 * one line in provider/meson.build. It makes calls; it decides neither when to make them nor what to
 * put into them. provider/publisher.h does: batches, rates, retries, isolation of bad changes.
 *
 * Glossary
 *   account     credentials at a provider, opened: tokens and connections belong to it
 *   zone        a hosted zone of an account; its id is the provider's own text
 *   record set  all records of one name and type: the smallest thing that is read or written
 *   edit        one record set as it should be, and what must be there before
 *   change      edits that belong together: a provider applies all of them or none where it can
 *   batch       changes of one zone in one call
 *   job         one call to the provider, under way
 *
 * Everything happens on the thread of one loop, and nothing blocks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"
#include "provider/code.h"
#include "provider/edit.h"
#include "provider/rrset.h"

struct dns_tsig_key;
struct lookup_client;
struct loop;
struct provider_job;

enum {
	PROVIDER_ERROR_BYTES = 320,
	PROVIDER_EDITS_MAX = 8,	      /* of a change */
	PROVIDER_ZONES_MAX = 100000,  /* of an account; further ones are ignored */
	PROVIDER_CALL_TIMEOUT_S = 30, /* of one call */
	PROVIDER_CALLS_PER_S = 50,    /* unless the provider has its own */
};

/* ---- what is written ---- */

struct provider_change {
	const struct provider_edit *edits;
	size_t n_edits;

	/* What the provider says of this change. PROVIDER_UNKNOWN: nothing. */
	enum provider_code code;
	char error[PROVIDER_ERROR_BYTES];
	/* PROVIDER_READ: as many sets as edits, in their order; those without values are missing. Also where
	 * the change has PROVIDER_OTHER_ZONE.
	 * Made by provider_change_found(), freed by provider_change_clear(). */
	struct provider_rrset *found;
	/* With PROVIDER_OTHER_ZONE: the id of the zone that the name belongs to, which is also its name; heap.
	 * NULL: the account has no such zone, or it is not known. */
	char *longer_zone;
	/* PROVIDER_APPLY and PROVIDER_SETTLE, without a code: it was accepted, and reads do not show it yet; `error`
	 * says so. The publisher asks by PROVIDER_SETTLE, with the changes and without a token. */
	bool is_unsettled;
	/* PROVIDER_APPLY, if it succeeded: the provider has read the sets just before, and they were not as wanted. */
	bool was_different;
};

/* ---- calls ---- */

enum provider_job_kind {
	PROVIDER_FIND_ZONES, /* one page of the account's zones, or the zone of one name */
	PROVIDER_READ,	     /* the sets of changes */
	PROVIDER_APPLY,	     /* writes changes */
	PROVIDER_SETTLE,     /* has a write that was accepted taken effect? */
	PROVIDER_SERIAL,     /* a number that changes with each change of the zone */
};
enum { PROVIDER_JOB_KINDS = PROVIDER_SERIAL + 1 };

struct provider_zone {
	char *id;
	char *name; /* lower case, without the final dot */
	bool is_private;
};

/* The publisher fills the first part and starts it; it stays where it is until `done` was called or
 * it was cancelled. */
struct provider_job {
	enum provider_job_kind kind;
	const char *zone;		 /* its id; not for FIND_ZONES */
	struct provider_change *changes; /* READ, APPLY, SETTLE without a token */
	size_t n_changes;
	const char *name;   /* FIND_ZONES: one that needs a zone; providers that list ignore it */
	const char *page;   /* FIND_ZONES: `next_page` of the job before; NULL: the first */
	const char *token;  /* SETTLE: that of the APPLY; NULL: its changes were `is_unsettled` */
	uint64_t end_by_ns; /* clock_mono_ns: nothing is sent after this */
	void (*done)(struct provider_job *job);

	/* The result. A failed APPLY of an atomic provider has changed nothing, unless the code is
	 * PROVIDER_UNSURE, which counts for all changes. Changes that the provider knows to be at fault
	 * have codes of their own; if none has, the publisher searches for them. Without atomicity each change has its code. */
	enum provider_code code;
	/* APPLY with PROVIDER_UNSURE: the server has answered, with an error that does not say whether the batch
	 * was applied. If reads show that it was not, some change is at fault. */
	bool was_answered;
	uint64_t
		retry_after_ns; /* from now, with PROVIDER_THROTTLED; 0: the provider did not say */
	char error[PROVIDER_ERROR_BYTES];
	struct provider_zone *zones; /* FIND_ZONES: by provider_job_add_zone() */
	size_t n_zones;
	bool is_zone_of_name; /* FIND_ZONES: only what concerns `name`; else all zones of the page */
	char *next_page;      /* FIND_ZONES: heap; NULL: the last page */
	char *settle_token;   /* APPLY: heap; accepted, takes effect later; NULL: it has */
	uint32_t serial;      /* SERIAL */

	void *call; /* the provider's own, between start and done */
};

/* ---- accounts ---- */

/* One key of a Secret. */
struct provider_credential {
	const char *name;
	struct slice value;
};

struct provider_account_conf {
	struct loop *loop; /* borrowed for the life of the account */
	const struct provider_credential *credentials;
	size_t n_credentials;
	const char *region; /* of the object; "": that of the Secret, or the default */
	/* For names of servers, on the same loop; borrowed likewise. NULL: names cannot be looked up. */
	struct lookup_client *lookups;
};

/* To be embedded in the provider's own. */
struct provider_account {
	struct loop *loop;
	bool has_owner_mark; /* this one has a place for `owner`, although not all of the type have */
	bool had_owner_mark; /* or it had: deletions keep their `owner`, so that it is removed, too */
};

/* ---- a provider ---- */

struct provider_caps {
	bool is_atomic;	     /* a batch is applied whole or not at all */
	bool has_guards;     /* APPLY enforces guards; else the publisher reads first */
	bool has_owner_mark; /* a place for `owner` of a set; without, the publisher drops it */
	bool is_for_tests;   /* no object of this type is served unless asked for */
	bool has_no_secret;  /* it needs none: that of an object is not read */
	bool has_serial;     /* knows PROVIDER_SERIAL; others are never asked for it */
	bool keeps_nothing;  /* record sets are in their objects only: there is nothing to read */
	/* READ and APPLY end with PROVIDER_OTHER_ZONE for a set to be written whose name belongs to a longer
	 * zone. Otherwise the publisher compares with the account's list of zones. */
	bool checks_zones;
	unsigned calls_per_s; /* documented limit of an account; 0: PROVIDER_CALLS_PER_S */
	unsigned burst;	      /* calls at once after a pause; 0: calls_per_s */
	unsigned zone_writes; /* APPLYs of one zone at a time; 0: one */
	size_t batch_changes; /* largest batch; 0: one */
	size_t batch_records; /* by `measure`; 0: any number */
	size_t batch_bytes;   /* by `measure`; 0: any number */
	size_t read_changes;  /* changes of one READ; 0: one */
};

struct provider_size {
	size_t records, bytes;
};

struct provider {
	const char *type; /* spec.type of a DNSRecord */
	const char *help;
	/* Keys of the Secret whose values may be in error texts: addresses, names of zones. Ends with
	 * NULL; NULL: none. */
	const char *const *public_keys;
	struct provider_caps caps;
	/* ERR_CONFIG with a sentence that names keys, never values. Makes no call. */
	int (*open)(const struct provider_account_conf *conf, struct provider_account **ret,
		    struct err_text err);
	/* No job is under way. */
	void (*close)(struct provider_account *account);
	/* Begins; `done` is called once, later, by the loop, never from inside. */
	void (*start)(struct provider_account *account, struct provider_job *job);
	/* Ends it at once; `done` is not called. */
	void (*cancel)(struct provider_account *account, struct provider_job *job);
	/* What a change takes of batch_records and batch_bytes; NULL: provider_change_size(). */
	struct provider_size (*measure)(const struct provider_change *change);
	/* The TSIG key that the account's server knows, too; valid as long as the account. NULL: there is none. */
	const struct dns_tsig_key *(*tsig_key)(struct provider_account *account);
};

extern const struct provider *const provider_list[]; /* ends with NULL */
const struct provider *provider_find(const char *type);
