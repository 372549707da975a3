/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search for zones, one for all entries of an account: what was found once is not asked again. */
#pragma once

#include "net/loop.h"
#include "provider/account_turn_priv.h"
#include "provider/call_priv.h"
#include "provider/entry_priv.h"
#include "provider/zone_index_priv.h"

struct publisher_account;

enum { FINDER_PAGES_MAX = 2000 };

struct finder {
	struct publisher_account *account;
	struct account_turn turn;
	struct publisher_call call;
	struct loop_timer timer;   /* the next attempt after a fault */
	struct entry_list waiting; /* for a zone */
	struct provider_zone_index index;
	char *name; /* for which this search is */
	char *page; /* the next one; NULL: the first */
	unsigned pages, attempts;
	uint64_t searches; /* that have ended */
};

void finder_init(struct finder *finder, struct publisher_account *account);
void finder_done(struct finder *finder);
/* The entry, which is in no list, goes to the queue of its zone, now or later, or fails. */
void finder_add(struct finder *finder, struct publisher_entry *entry);
/* Fails all that wait. */
void finder_fail(struct finder *finder, enum provider_code code, const char *error);
