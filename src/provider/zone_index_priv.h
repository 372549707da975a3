/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The zones of an account, as far as they were found: the zone of a name is the longest one that
 * ends it at a label's boundary (DR-15). No I/O; time is an argument. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct provider_zone;

enum {
	PROVIDER_ZONE_MISSING_S = 60, /* a name without a zone is not searched again for so long */
	/* The list of zones is used for a hundred times the time that reading it took, within these limits: new
	 * zones are found soon, and at most one call in a hundred reads the list. */
	PROVIDER_ZONE_LIST_FACTOR = 100,
	PROVIDER_ZONE_LIST_MIN_S = 1,
	PROVIDER_ZONE_LIST_MAX_S = 3600,
	PROVIDER_ZONE_MISSING_MAX = 4096, /* names without a zone that are remembered */
	PROVIDER_ZONE_OTHERS_MAX = 512,	  /* characters of `others` */
};

/* One name, and of several zones of that name the one that is used (DR-19). */
struct provider_zone_choice {
	char *id;
	bool is_private;
	char *others;	   /* ids of the others, separated by blanks; NULL: there are none */
	char *private_ids; /* those of all that are private */
};

struct provider_zone_index {
	struct map zones;    /* by name: struct provider_zone_choice */
	struct map building; /* those of a list that is not complete yet */
	struct map missing;  /* names; the value is the time in a heap-allocated uint64_t */
	uint64_t listed_ns;  /* when all zones were known; 0: never */
	uint64_t begun_ns;   /* when the list was begun */
	uint64_t use_ns;     /* the list is used for so long */
};

enum provider_zone_answer { PROVIDER_ZONE_UNKNOWN, PROVIDER_ZONE_FOUND, PROVIDER_ZONE_MISSING };
enum provider_zone_check { PROVIDER_ZONE_UNCHECKED, PROVIDER_ZONE_FITS, PROVIDER_ZONE_TOO_SHORT };

void provider_zone_index_init(struct provider_zone_index *index);
void provider_zone_index_done(struct provider_zone_index *index);

/* UNKNOWN: zones must be asked for. `ret` is borrowed until the next change of the index. */
enum provider_zone_answer provider_zone_index_find(struct provider_zone_index *index,
						   const char *name, uint64_t now_ns,
						   const struct provider_zone_choice **ret);
/* Is a zone, by its id (a final dot is ignored), the longest one of the name? Public and private zones are
 * not served together, and are not compared. TOO_SHORT: `ret_longer` is the id of a longer one. UNCHECKED:
 * the list must be read. */
enum provider_zone_check provider_zone_index_check(const struct provider_zone_index *index,
						   const char *name, const char *zone_id,
						   uint64_t now_ns, const char **ret_longer);
/* A list begins anew; what is known stays until it is complete. */
void provider_zone_index_begin(struct provider_zone_index *index, uint64_t now_ns);
void provider_zone_index_add(struct provider_zone_index *index, const struct provider_zone *zone);
/* The list is complete, and replaces what was known. */
void provider_zone_index_complete(struct provider_zone_index *index, uint64_t now_ns);
/* The search for the zone of one name has found `zone`, or none (NULL). A zone above the name is used for its
 * other names, too. */
void provider_zone_index_learn(struct provider_zone_index *index, const char *name,
			       const struct provider_zone *zone, uint64_t now_ns);
/* The zone is gone: it is not used any more, and the next search asks the provider. */
void provider_zone_index_forget(struct provider_zone_index *index, const char *zone_id);
