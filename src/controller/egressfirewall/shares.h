/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many learnt hosts each wildcard has, and which of them makes room for another one. A client that asks for
 * very many names drives out the names that he asked for himself, below the same wildcard, and no others
 * (EF-P10).
 *
 * Glossary
 *   share      the learnt hosts of a wildcard, by client in the order in which they were used
 *   client     a number that stands for the client that a host counts for; 0: not known
 *   fair part  what each share could have if all had the same */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

enum {
	SHARES_HOSTS_MAX = 65536, /* learnt hosts in all */
	SHARES_HOST_MAX = 4096,	  /* of one wildcard */
};

/* A host's place; a member of the host. */
struct shares_place {
	struct shares_client *client; /* NULL: it has none */
	struct shares_place *older, *newer;
	uint64_t client_id; /* also of a place that has none */
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
/* Which host has to leave so that there is room for one of the client: below the wildcard itself if it has its
 * fair part, else below the one that has most. It counts for the client that has most of them there, the asking one
 * if none has more than it would have then, and was used longest ago. NULL: there is no host at all. */
struct shares_place *shares_oldest_for(const struct shares *shares, const char *wildcard,
				       uint64_t client_id);
/* Puts the host into the wildcard's share, as the one that its client used last; out of another one if it is
 * there. Limits are the caller's. */
void shares_join(struct shares *shares, struct shares_place *place, const char *wildcard);
/* The client uses it. It counts for the one that has fewer below the wildcard. */
void shares_use(struct shares_place *place, uint64_t client_id);
/* Out of its share, if it has one. */
void shares_leave(struct shares *shares, struct shares_place *place);
