/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events that still have to be sent to the server, without I/O: like Events become one with a count,
 * Events about one object are limited, and failed requests are repeated. kube/events/events.h sends
 * them. Times are of the monotonic clock. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/compiler.h"

enum {
	SERIES_MAX = 1000, /* remembered at once; what is more is dropped */
	SERIES_TRIES = 12,
	SERIES_RETRY_S = 10,	   /* and up to a quarter more */
	SERIES_SILENCE_S = 6 * 60, /* ends a series */
	SERIES_FLUSH_S = 30 * 60,  /* a long one is sent that often */
	SERIES_BURST = 25,	   /* different Events of one object */
	SERIES_REFILL_S = 5 * 60,  /* then one more each so often */
};

struct series;
struct series_item;

struct series *series_new(void);
void series_free(struct series *series);

/* What makes Events alike. The objects are whole ones; `related` may be NULL. */
struct series_like {
	const char *controller, *instance;
	const json_t *regarding, *related;
	bool warning;
	const char *action, *reason;
};
/* An Event has happened that may be like an earlier one. 0: it is counted. ERR_LIMIT: dropped.
 * ERR_NOTFOUND: it is the first, so call series_add. Most Events need no body in this way. */
MUST_CHECK int series_repeat(struct series *series, const struct series_like *like, uint64_t now_ns,
			     uint64_t wall_ns);
/* An Event has happened. `body`: the whole Event, a reference taken over. ERR_LIMIT: dropped. */
MUST_CHECK int series_add(struct series *series, json_t *body, uint64_t now_ns, uint64_t wall_ns);

enum series_act { SERIES_WAIT, SERIES_CREATE, SERIES_PATCH };
/* What to send now. SERIES_WAIT: nothing before *ret_until_ns (0: until something is noted).
 * Otherwise *ret_item is kept until series_result, and *ret_body, a reference of the caller's, is
 * the Event, or the merge patch for it. */
enum series_act series_next(struct series *series, uint64_t now_ns, struct series_item **ret_item,
			    json_t **ret_body, uint64_t *ret_until_ns);
/* The result of the request that series_next returned: `ret` is that of kube_create or
 * kube_merge. `it` may be freed here. The caller serialises all calls: a series has no lock. */
void series_result(struct series *series, struct series_item *it, enum series_act act, int ret,
		   uint64_t now_ns);
const char *series_item_name(const struct series_item *it);
const char *series_item_namespace(const struct series_item *it);

struct series_stats {
	uint64_t sent, dropped, failed;
	size_t items, unsent;
};
void series_stats(const struct series *series, struct series_stats *ret);
