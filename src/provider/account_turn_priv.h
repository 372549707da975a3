/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who wants to make calls of an account waits for a turn: calls follow the account's rate, and urgent
 * work goes before periodic work, unless that has waited for PUBLISHER_PERIODIC_MAX_S. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "provider/publisher.h"

struct account_turn {
	struct account_turn *next;
	bool is_waiting;
	uint64_t since_ns;		  /* that it waits */
	enum publisher_priority priority; /* does not change while it waits */
	/* The turn has come, and is over when this returns: makes at most one call. */
	void (*run)(struct account_turn *turn);
};

/* Waits for its turn; one that waits already keeps its place. */
void account_turn_wait(struct publisher_account *account, struct account_turn *turn);
void account_turn_leave(struct publisher_account *account, struct account_turn *turn);
/* The loop's timer of the account: turns of those who may call now. */
void account_turn_pump(struct publisher_account *account);
