/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single flight: of the queries of one worker for the same key, a few ask the chain below (leaders)
 * and the others wait for their replies (followers). The queries of a key are a group; groups are
 * in a small hash table, so that finding one costs the same however many wait in it. Keys are
 * compared by their hash: a follower that waited for something else finds nothing stored and asks
 * by itself.
 *
 * No more than FLIGHT_ASKING_MAX queries of a group ask at a time, whatever becomes of them: a
 * thousand equal questions under way are a thousand chances for who forges a reply. */
#pragma once

#include "plugin/cache/cache_priv.h"

unsigned flight_asking(struct cache_worker *worker, uint64_t hash);
bool flight_waits(struct cache_worker *worker, uint64_t hash);
/* The first one that waits, or NULL. */
struct flight *flight_waiting(struct cache_worker *worker, uint64_t hash);
/* Joins the group of the key. f must be in none. */
void flight_ask(struct cache_worker *worker, struct flight *flight, struct query *q, uint64_t hash);
void flight_wait(struct cache_worker *worker, struct flight *flight, struct query *q,
		 uint64_t hash);
/* Ahead of all others: for one that will not ask. */
void flight_wait_ahead(struct cache_worker *worker, struct flight *flight, struct query *q,
		       uint64_t hash);
/* Fine for one that is in no group. */
void flight_remove(struct flight *flight);
/* Resumes all that wait for the key. */
void flight_wake(struct plugin_inst *self, struct cache_worker *worker, uint64_t hash,
		 bool refreshed);
/* Nothing was stored: resumes as many followers as may ask now, which count as asking at once. */
void flight_release(struct plugin_inst *self, struct cache_worker *worker, uint64_t hash);
/* Frees what the worker has, when no query is left. */
void flight_done(struct cache_worker *worker);
