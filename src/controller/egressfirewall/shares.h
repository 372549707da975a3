/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many learnt hosts each wildcard has, and which of them makes room for another one. Whoever asks for
 * very many names below one wildcard drives out other names below the same wildcard and no others
 * (EF-P10).
 *
 * Glossary
 *   share      the learnt hosts of a wildcard, in the order in which clients used them
 *   fair part  what each share could have if all had the same */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"

enum {
	SHARES_HOSTS_MAX = 65536, /* learnt hosts in all */
	SHARES_HOST_MAX = 4096,	  /* of one wildcard */
};

/* A host's place; a member of the host. */
struct shares_place {
	struct shares_share *share; /* NULL: it has none */
	struct shares_place *older, *newer;
};

struct shares {
	struct map by_wildcard; /* struct shares_share, owned; none is empty */
	size_t n_places;
};

void shares_init(struct shares *shares);
/* Places are left as they are. */
void shares_done(struct shares *shares);

/* Is there room for one more host of the wildcard, which is any name that stands for it? */
bool shares_have_room(const struct shares *shares, const char *wildcard);
/* Which host has to leave so that there is room: the one that was used longest ago, of the wildcard itself
 * if it has its fair part, else of the one that has most. NULL: there is no host at all. */
struct shares_place *shares_oldest_for(const struct shares *shares, const char *wildcard);
/* Puts the host into the wildcard's share, as the one that was used last; out of another one if it is
 * there. Limits are the caller's. */
void shares_join(struct shares *shares, struct shares_place *place, const char *wildcard);
/* A client uses it. */
void shares_use(struct shares_place *place);
/* Out of its share, if it has one. */
void shares_leave(struct shares *shares, struct shares_place *place);
