/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The turns of an account. */
#include "provider/account_turn_priv.h"

#include <assert.h>
#include <stddef.h>

#include "base/clock.h"
#include "provider/account_priv.h"

void account_turn_wait(struct publisher_account *account, struct account_turn *turn)
{
	struct account_turn **last = &account->last_turns[turn->priority];
	if (turn->is_waiting)
		return;
	if (*last != NULL)
		(*last)->next = turn;
	else
		account->turns[turn->priority] = turn;
	*last = turn;
	turn->next = NULL;
	turn->is_waiting = true;
	turn->since_ns = loop_now(account->loop);
	loop_timer_set(account->loop, &account->pump, loop_now(account->loop));
}

void account_turn_leave(struct publisher_account *account, struct account_turn *turn)
{
	struct account_turn *before = NULL, *at = account->turns[turn->priority];
	if (!turn->is_waiting)
		return;
	for (; at != turn; at = at->next) {
		assert(at != NULL);
		before = at;
	}
	if (before != NULL)
		before->next = turn->next;
	else
		account->turns[turn->priority] = turn->next;
	if (account->last_turns[turn->priority] == turn)
		account->last_turns[turn->priority] = before;
	turn->is_waiting = false;
}

static struct account_turn *choose_turn(const struct publisher_account *account)
{
	struct account_turn *periodic = account->turns[PUBLISHER_PERIODIC];
	uint64_t now = loop_now(account->loop);
	if (periodic != NULL && now - periodic->since_ns >= PUBLISHER_PERIODIC_MAX_S * NS_PER_S)
		return periodic;
	return account->turns[PUBLISHER_NOW] != NULL ? account->turns[PUBLISHER_NOW] : periodic;
}

void account_turn_pump(struct publisher_account *account)
{
	struct account_turn *turn;
	while ((turn = choose_turn(account)) != NULL) {
		uint64_t now = loop_now(account->loop);
		uint64_t wait = provider_rate_wait_ns(&account->rate, now);
		if (wait != 0) {
			loop_timer_set(account->loop, &account->pump, now + wait);
			return;
		}
		account_turn_leave(account, turn);
		turn->run(turn);
	}
}
