/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of damaged rows, for the other files of the store. */
#pragma once

#include <pthread.h>
#include <stddef.h>

#include "apiserver/store/damage.h"

enum { STORE_DAMAGE_KEYS = 16 }; /* further ones are not recorded */

struct store_damage {
	pthread_mutex_t lock; /* guards all */
	char *key[STORE_DAMAGE_KEYS];
	size_t count;
};

/* Records a damaged row and reports it once. `key` "": the damaged row is not known. Any thread. */
void store_damage_note(struct apiserver_store *store, const char *key);
/* Records the damage if `error` is ERR_PARSE; returns `error`. */
int store_damage_note_error(struct apiserver_store *store, int error);
/* Empties the list. */
void store_damage_clear(struct apiserver_store *store);
