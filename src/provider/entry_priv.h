/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A request inside the publisher: a copy of its edits in one piece of memory, which may outlive the
 * request, and lists of such. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/loop.h"
#include "provider/publisher.h"

struct publisher_entry;
struct publisher_zone;
struct entry_list;

/* Its place in the line of one name; provider/name_line_priv.h. */
struct entry_claim {
	struct publisher_entry *entry;
	const char *name;
	struct entry_claim *next; /* waits for this one */
};

struct publisher_entry {
	struct publisher_entry *next, *prev;
	struct entry_list *list;	   /* NULL: in none */
	struct publisher_request *request; /* NULL: cancelled */
	struct publisher_account *account;
	struct publisher_zone *zone; /* NULL: not known yet */
	struct provider_edit *edits;
	size_t n_edits;
	struct entry_claim *claims; /* one for each different name */
	size_t n_claims;
	uint64_t since_ns;
	uint64_t due_ns; /* while it waits to be sent alone */
	struct loop_timer patience;
	bool is_late; /* its patience is over: it ends with the next fault */
	uint8_t priority;
	bool maybe_applied;
	bool found_zone;     /* by search, not by the caller */
	bool checks_zone;    /* that of the caller */
	uint64_t searches;   /* of the account that had ended when it came to the finder */
	bool searched_again; /* since the zone that was found first is gone */
	unsigned n_doubts;   /* conflicts that reads did not explain */
	bool was_sent;
	bool only_reads;
	struct provider_rrset *found; /* of `only_reads`: one for each edit; NULL: not read */
	char *zone_id;		      /* the caller's; NULL: searched */
	char *other_zones;
};

struct entry_list {
	struct publisher_entry *first, *last;
	size_t n;
};

struct publisher_entry *entry_new(struct publisher_request *request, uint64_t now_ns);
void entry_free(struct publisher_entry *entry);
void entry_push(struct entry_list *list, struct publisher_entry *entry);
struct publisher_entry *entry_pop(struct entry_list *list); /* the first; NULL: none */
void entry_unlink(struct publisher_entry *entry);	    /* fine for one in no list */
/* All of its edits delete. */
bool entry_only_deletes(const struct publisher_entry *entry);
