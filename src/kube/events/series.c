/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The queue of Events to send, without I/O: equal Events become one series with a count, created
 * once and then patched; each object has a token bucket; failed requests are retried. */
#include "kube/events/series.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/time.h"
#include "api/tree.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/strbuf.h"

struct series_item {
	char *key;
	json_t *body;
	bool created;	     /* the server has it */
	bool busy;	     /* a request is under way */
	unsigned count;	     /* of like Events so far */
	unsigned sent_count; /* the count that the server knows */
	unsigned tries;
	uint64_t last_ns, last_wall_ns;
	uint64_t sent_ns; /* when that was sent */
	uint64_t due_ns;  /* not before, after a failure */
};

struct bucket {
	double tokens;
	uint64_t at_ns;
};

struct series {
	struct map items, buckets;
	bool full; /* all items are needed, until a request has a result */
	struct series_stats stats;
	struct rng rng;
};

/* ---- keys ---- */

static void add_word(struct strbuf *out, const char *word)
{
	strbuf_adds(out, word);
	strbuf_addc(out, '\x1f');
}

static void add_ref(struct strbuf *out, const json_t *object)
{
	static const char *const fields[] = { "apiVersion", "kind", "namespace", "name", "uid" };
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		add_word(out, api_text(json_object_get(object, fields[i])));
}

/* The reporter and the object. */
static void object_key(struct strbuf *out, const json_t *body)
{
	add_word(out, api_text(json_object_get(body, "reportingController")));
	add_word(out, api_text(json_object_get(body, "reportingInstance")));
	add_ref(out, json_object_get(body, "regarding"));
}

static void series_key(struct strbuf *out, const json_t *body)
{
	object_key(out, body);
	add_ref(out, json_object_get(body, "related"));
	add_word(out, api_text(json_object_get(body, "type")));
	add_word(out, api_text(json_object_get(body, "action")));
	add_word(out, api_text(json_object_get(body, "reason")));
}

static void add_object(struct strbuf *out, const json_t *object)
{
	add_word(out, api_version(object));
	add_word(out, api_kind(object));
	add_word(out, api_namespace(object));
	add_word(out, api_name(object));
	add_word(out, api_uid(object));
}

/* The same key, from what a body is made of. */
static void add_like_key(struct strbuf *out, const struct series_like *like)
{
	add_word(out, like->controller);
	add_word(out, like->instance);
	add_object(out, like->regarding);
	add_object(out, like->related);
	add_word(out, like->warning ? "Warning" : "Normal");
	add_word(out, like->action);
	add_word(out, like->reason);
}

/* ---- the buckets ---- */

static double tokens_at(const struct bucket *bucket, uint64_t now_ns)
{
	double more = (double)(now_ns - bucket->at_ns) / (double)(SERIES_REFILL_S * NS_PER_S);
	return MIN(bucket->tokens + more, (double)SERIES_BURST);
}

/* Makes room for a bucket: removes a full one, which limits nothing, else the oldest. */
static void prune_buckets(struct series *series, uint64_t now_ns)
{
	const struct map_entry *e;
	size_t pos = 0;
	CLEANUP(freep) char *first = NULL;
	while ((e = map_next(&series->buckets, &pos)) != NULL) {
		if (tokens_at(e->value, now_ns) >= SERIES_BURST) {
			free(map_del(&series->buckets, (struct slice){ e->key, e->key_n }));
			return;
		}
		if (first == NULL)
			first = xstrdup(e->key);
	}
	if (first != NULL)
		free(map_del(&series->buckets, slice_of(first)));
}

static bool take_token(struct series *series, const json_t *body, uint64_t now_ns)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	object_key(&key, body);
	struct bucket *b = map_get(&series->buckets, strbuf_slice(&key));
	if (b == NULL) {
		if (series->buckets.n >= SERIES_MAX)
			prune_buckets(series, now_ns);
		b = xcalloc(1, sizeof(*b));
		*b = (struct bucket){ .tokens = SERIES_BURST, .at_ns = now_ns };
		map_set(&series->buckets, strbuf_slice(&key), b);
	}
	b->tokens = tokens_at(b, now_ns);
	b->at_ns = now_ns;
	if (b->tokens < 1)
		return false;
	b->tokens -= 1;
	assert(b->tokens >= 0 && b->tokens < SERIES_BURST);
	return true;
}

/* ---- items ---- */

static void item_free(struct series_item *it)
{
	free(it->key);
	json_decref(it->body);
	free(it);
}

static void forget_item(struct series *series, struct series_item *it)
{
	assert(!it->busy);
	map_del(&series->items, slice_of(it->key));
	item_free(it);
}

static bool is_silent(const struct series_item *it, uint64_t now_ns)
{
	return now_ns - it->last_ns >= SERIES_SILENCE_S * NS_PER_S;
}

/* When the count has to be sent: the second Event at once, more of them now and then and at the end of
 * the series. */
static uint64_t report_due_ns(const struct series_item *it)
{
	if (it->sent_count < 2)
		return it->last_ns;
	uint64_t flush = it->sent_ns + SERIES_FLUSH_S * NS_PER_S;
	uint64_t end = it->last_ns + SERIES_SILENCE_S * NS_PER_S;
	return MIN(flush, end);
}

/* When something is to be done with it; what is only to be forgotten counts too. */
static uint64_t due_ns_of(const struct series_item *it)
{
	if (it->created && it->count == it->sent_count)
		return it->last_ns + SERIES_SILENCE_S * NS_PER_S;
	uint64_t want = it->created ? report_due_ns(it) : it->last_ns;
	return MAX(want, it->due_ns);
}

/* Makes room for another series: removes one whose count was sent. */
static bool make_room(struct series *series)
{
	const struct map_entry *e;
	size_t pos = 0;
	if (series->items.n < SERIES_MAX)
		return true;
	if (series->full)
		return false;
	while ((e = map_next(&series->items, &pos)) != NULL) {
		struct series_item *it = e->value;
		if (it->created && !it->busy && it->count == it->sent_count) {
			forget_item(series, it);
			return true;
		}
	}
	series->full = true;
	return false;
}

static int drop_event(struct series *series, json_t *body)
{
	series->stats.dropped++;
	json_decref(body);
	return ERR_LIMIT;
}

/* A thousand objects may change each second: what finds no room costs no search. */
static bool is_full(const struct series *series)
{
	return series->full && series->items.n >= SERIES_MAX;
}

/* False: it is the first of its series, or the series has ended. */
static bool count_again(struct series_item *it, uint64_t now_ns, uint64_t wall_ns)
{
	if (it == NULL || (is_silent(it, now_ns) && it->created && it->count == it->sent_count))
		return false;
	it->count++;
	it->last_ns = now_ns;
	it->last_wall_ns = wall_ns;
	return true;
}

int series_repeat(struct series *series, const struct series_like *like, uint64_t now_ns,
		  uint64_t wall_ns)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	add_like_key(&key, like);
	struct series_item *it = map_get(&series->items, strbuf_slice(&key));
	if (count_again(it, now_ns, wall_ns))
		return 0;
	return it == NULL && is_full(series) ? drop_event(series, NULL) : ERR_NOTFOUND;
}

int series_add(struct series *series, json_t *body, uint64_t now_ns, uint64_t wall_ns)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	series_key(&key, body);
	struct series_item *it = map_get(&series->items, strbuf_slice(&key));
	if (count_again(it, now_ns, wall_ns)) {
		json_decref(body);
		return 0;
	}
	if (it != NULL && !it->busy)
		forget_item(series, it);
	else if (it != NULL)
		return drop_event(series, body);
	if (is_full(series) || !take_token(series, body, now_ns) || !make_room(series))
		return drop_event(series, body);
	it = xcalloc(1, sizeof(*it));
	it->key = strbuf_take(&key);
	it->body = body;
	it->count = 1;
	it->last_ns = now_ns;
	it->last_wall_ns = wall_ns;
	map_set(&series->items, slice_of(it->key), it);
	return 0;
}

/* ---- what to send ---- */

static json_t *series_json(const struct series_item *it)
{
	char text[API_TIME_TEXT_MAX];
	return json_pack("{s:i, s:s}", "count", (int)it->count, "lastObservedTime",
			 api_micro_time_format(it->last_wall_ns, text));
}

static struct series_item *earliest_item(struct series *series)
{
	struct series_item *best = NULL;
	const struct map_entry *e;
	size_t pos = 0;
	while ((e = map_next(&series->items, &pos)) != NULL) {
		struct series_item *it = e->value;
		if (!it->busy && (best == NULL || due_ns_of(it) < due_ns_of(best)))
			best = it;
	}
	return best;
}

enum series_act series_next(struct series *series, uint64_t now_ns, struct series_item **ret_item,
			    json_t **ret_body, uint64_t *ret_until_ns)
{
	struct series_item *it;
	while ((it = earliest_item(series)) != NULL && due_ns_of(it) <= now_ns && it->created &&
	       it->count == it->sent_count)
		forget_item(series, it); /* silent for long */
	if (it == NULL || due_ns_of(it) > now_ns) {
		*ret_until_ns = it != NULL ? due_ns_of(it) : 0;
		return SERIES_WAIT;
	}
	assert(!it->busy && it->count > it->sent_count);
	it->busy = true;
	*ret_item = it;
	if (it->created) {
		it->sent_count = it->count;
		*ret_body = json_pack("{s:o}", "series", series_json(it));
		return SERIES_PATCH;
	}
	*ret_body = json_deep_copy(it->body);
	it->sent_count = it->count;
	if (it->count > 1)
		json_object_set_new(*ret_body, "series", series_json(it));
	return SERIES_CREATE;
}

static bool is_transient(int ret)
{
	return ret == ERR_CLOSED || ret == ERR_TIMEOUT || ret == ERR_BUSY || ret == ERR_INTERNAL ||
	       ret == -ECANCELED;
}

void series_result(struct series *series, struct series_item *it, enum series_act act, int ret,
		   uint64_t now_ns)
{
	assert(it->busy && act != SERIES_WAIT);
	it->busy = false;
	series->full = false;
	/* An answer that got lost: ours is there already. */
	if (ret == 0 || (act == SERIES_CREATE && ret == ERR_DUPLICATE)) {
		it->created = true;
		it->tries = 0;
		it->sent_ns = now_ns;
		series->stats.sent++;
		return;
	}
	it->sent_count = 0;
	/* The server keeps Events for an hour; a series may be longer. */
	if (act == SERIES_PATCH && ret == ERR_NOTFOUND) {
		it->created = false;
		return;
	}
	if (!is_transient(ret) || ++it->tries >= SERIES_TRIES) {
		series->stats.failed++;
		forget_item(series, it);
		return;
	}
	uint32_t jitter_ms = rng_below(&series->rng, SERIES_RETRY_S * 1000 / 4);
	it->due_ns = now_ns + SERIES_RETRY_S * NS_PER_S + jitter_ms * NS_PER_MS;
}

/* ---- the rest ---- */

const char *series_item_name(const struct series_item *it)
{
	return api_name(it->body);
}

const char *series_item_namespace(const struct series_item *it)
{
	return api_namespace(it->body);
}

struct series *series_new(void)
{
	struct series *s = xcalloc(1, sizeof(*s));
	map_init(&s->items);
	map_init(&s->buckets);
	rng_init(&s->rng);
	return s;
}

void series_free(struct series *series)
{
	const struct map_entry *e;
	size_t pos = 0;
	if (series == NULL)
		return;
	while ((e = map_next(&series->items, &pos)) != NULL)
		item_free(e->value);
	for (pos = 0; (e = map_next(&series->buckets, &pos)) != NULL;)
		free(e->value);
	map_done(&series->items);
	map_done(&series->buckets);
	free(series);
}

void series_stats(const struct series *series, struct series_stats *ret)
{
	const struct map_entry *e;
	size_t pos = 0;
	*ret = series->stats;
	ret->items = series->items.n;
	ret->unsent = 0;
	while ((e = map_next(&series->items, &pos)) != NULL)
		ret->unsent += !((const struct series_item *)e->value)->created;
}
