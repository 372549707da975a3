/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The store's table: look-up without locks, insertion under a shard's lock. */
#include "plugin/cache/store.h"
#include "plugin/cache/store_test.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/mem.h"
#include "dns/name.h"
#include "plugin/cache/store_priv.h"
#include "plugin/cache/store_shard.h"

enum {
	CAPACITY_MIN = 1024,
	CAPACITY_MAX = 1 << 26,
	SHARDS_MAX = 64,
	SHARD_ENTRIES_MIN = 64, /* of the smaller half: fewer would make the limits uneven */
	SHARD_CELLS_MIN = 512,	/* a good part of fewer would be in limbo */
	BUCKET_LOAD = 8,	/* entries per bucket when full: few buckets then overflow */
	HUGE_PAGES_FROM = 16 << 20,
};

#define EACH_BYTE UINT64_C(0x0101010101010101)
#define TOP_BITS  UINT64_C(0x8080808080808080)

__extension__ typedef unsigned __int128 u128;

/* ---- hashing ---- */

static ALWAYS_INLINE uint64_t mix_hash(uint64_t left, uint64_t right)
{
	u128 m = (u128)left * right;
	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* Keyed by a secret, so that nobody can choose names that share a bucket. */
uint64_t store_hash(const struct store *store, const struct store_key *key)
{
	uint64_t h = store->seed[0] ^ ((uint64_t)key->qtype << 32 | (uint64_t)key->qclass << 16 |
				       (uint64_t)key->bits << 8 | key->name_len);
	uint64_t w;
	size_t n = key->name_len;
	const uint8_t *p = key->name;
	for (; n > 8; n -= 8, p += 8) {
		memcpy(&w, p, 8);
		h = mix_hash(h ^ w, store->seed[1] ^ UINT64_C(0x9e3779b97f4a7c15));
	}
	memcpy(&w, p, 8);
	w &= n < 8 ? (UINT64_C(1) << n * 8) - 1 : ~UINT64_C(0);
	h = mix_hash(h ^ w, store->seed[1] ^ UINT64_C(0x9e3779b97f4a7c15));
	return mix_hash(h, store->seed[0] | 1);
}

static ALWAYS_INLINE struct shard *shard_of(const struct store *store, uint64_t hash)
{
	return &store->shard[hash >> 48 & (store->n_shards - 1)];
}

struct bucket *store_bucket_of(const struct shard *shard, uint64_t hash)
{
	return &shard->bucket[(hash & UINT32_MAX) * shard->n_buckets >> 32];
}

static ALWAYS_INLINE uint8_t tag_of(uint64_t hash)
{
	uint8_t tag = (uint8_t)(hash >> 40);
	return tag != 0 ? tag : 1;
}

/* A top bit for each byte that equals the tag (and maybe for some above one that does). */
static ALWAYS_INLINE uint64_t match_tags(uint64_t tags, uint8_t tag)
{
	uint64_t x = tags ^ EACH_BYTE * tag;
	return (x - EACH_BYTE) & ~x & TOP_BITS;
}

/* ---- readers ---- */

static_assert(STORE_FIRST % 2 == 0 && STORE_MORE % 2 == 0, "no item of the list is in two cells");

/* The list stays where it is: with its 2 bytes for each record the copy could be longer than any
 * message, and than the memory of a query. */
void store_copy_more(const struct store_entry *entry, uint32_t ttl_s, uint8_t *out)
{
	size_t list = store_data_len(entry->wire_len, 0);
	size_t end = list + (size_t)entry->n_ttl * 2;
	size_t at = STORE_FIRST;
	if (list < at) /* then the whole message is in the first cell */
		store_set_ttls(entry->data + list, entry->data + MIN(at, end), ttl_s, out);
	for (const struct store_more *more = entry->more; more != NULL;
	     more = more->next, at += STORE_MORE) {
		if (at < entry->wire_len)
			memcpy(out + at, more->data, MIN(entry->wire_len - at, (size_t)STORE_MORE));
		if (list < at + STORE_MORE)
			store_set_ttls(more->data + (list > at ? list - at : 0),
				       more->data + MIN(end - at, (size_t)STORE_MORE), ttl_s, out);
	}
}

/* A name of more than a cell: the rest stands in the next one or two. */
static NOINLINE bool same_long_name(const struct store_entry *entry, const struct store_key *key)
{
	size_t at = STORE_FIRST - DNS_HEADER_BYTES;
	if (memcmp(entry->data + DNS_HEADER_BYTES, key->name, at) != 0)
		return false;
	for (const struct store_more *more = entry->more; more != NULL && at < key->name_len;
	     more = more->next) {
		size_t n = MIN((size_t)key->name_len - at, (size_t)STORE_MORE);
		if (memcmp(more->data, key->name + at, n) != 0)
			return false;
		at += n;
	}
	return true;
}

static ALWAYS_INLINE bool has_key(const struct store_entry *entry, const struct store_key *key)
{
	if (entry->hash != key->hash || entry->name_len != key->name_len ||
	    entry->qtype != key->qtype || entry->qclass != key->qclass || entry->bits != key->bits)
		return false;
	if (UNLIKELY(key->name_len > STORE_FIRST - DNS_HEADER_BYTES))
		return same_long_name(entry, key);
	return memcmp(entry->data + DNS_HEADER_BYTES, key->name, key->name_len) == 0;
}

/* The entry of the next tag in *matches that has one, or NULL; removes those it has seen. */
static ALWAYS_INLINE struct store_entry *next_match(struct bucket *bucket, unsigned word,
						    uint64_t *matches)
{
	while (*matches != 0) {
		unsigned i = word * 8 + (unsigned)__builtin_ctzll(*matches) / 8;
		*matches &= *matches - 1;
		struct store_entry *entry = i < BUCKET_PLACES ? rcu_get(&bucket->at[i]) : NULL;
		if (entry != NULL)
			return entry;
	}
	return NULL;
}

bool store_get(const struct store *store, const struct store_key *key,
	       struct store_entry *ret[STORE_KINDS])
{
	struct bucket *bucket = store_bucket_of(shard_of(store, key->hash), key->hash);
	uint8_t tag = tag_of(key->hash);
	bool found = false;
	ret[STORE_SUCCESS] = ret[STORE_DENIAL] = ret[STORE_WEAK] = NULL;
	for (unsigned word = 0; word < 2; word++) {
		uint64_t m = match_tags(
			atomic_load_explicit(&bucket->tags[word], memory_order_relaxed), tag);
		for (struct store_entry *entry; (entry = next_match(bucket, word, &m)) != NULL;) {
			if (!has_key(entry, key))
				continue;
			ret[entry->kind] = entry;
			found = true;
		}
	}
	return found;
}

void store_cpu_prefetch_bucket(const struct store *store, uint64_t hash)
{
	const char *b = (const char *)store_bucket_of(shard_of(store, hash), hash);
	__builtin_prefetch(b);
	__builtin_prefetch(b + 64);
}

void store_cpu_prefetch_entry(const struct store *store, uint64_t hash)
{
	enum { LINES = STORE_CELL / 64 };
	struct bucket *bucket = store_bucket_of(shard_of(store, hash), hash);
	for (unsigned word = 0; word < 2; word++) {
		uint64_t m =
			match_tags(atomic_load_explicit(&bucket->tags[word], memory_order_relaxed),
				   tag_of(hash));
		const char *e = (const char *)next_match(bucket, word, &m);
		for (int i = 0; e != NULL && i < LINES; i++)
			__builtin_prefetch(e + (size_t)i * 64);
	}
}

/* ---- writers ---- */

static struct store_entry *find_kind(struct bucket *bucket, const struct store_key *key,
				     enum store_kind kind, unsigned *ret_place)
{
	for (unsigned i = 0; i < BUCKET_PLACES; i++) {
		struct store_entry *entry =
			atomic_load_explicit(&bucket->at[i], memory_order_relaxed);
		if (entry != NULL && entry->kind == kind && has_key(entry, key)) {
			*ret_place = i;
			return entry;
		}
	}
	return NULL;
}

/* The entry of a full bucket that is missed least: expired, else not visited, else the oldest. */
static struct store_entry *find_weakest(struct bucket *bucket, uint64_t now_ns, uint32_t stale_s)
{
	struct store_entry *best = NULL;
	int best_rank = 0;
	for (unsigned i = 0; i < BUCKET_PLACES; i++) {
		struct store_entry *entry =
			atomic_load_explicit(&bucket->at[i], memory_order_relaxed);
		bool expired = store_ttl(entry, now_ns) + (int64_t)stale_s <= 0;
		int rank =
			expired ? 2 : !atomic_load_explicit(&entry->visited, memory_order_relaxed);
		atomic_store_explicit(&entry->visited, 0, memory_order_relaxed);
		if (best == NULL || rank > best_rank ||
		    (rank == best_rank && entry->stored_ns < best->stored_ns)) {
			best = entry;
			best_rank = rank;
		}
	}
	assert(best != NULL);
	return best;
}

static bool free_place(const struct bucket *bucket, unsigned *ret)
{
	for (unsigned i = 0; i < BUCKET_PLACES; i++) {
		if (atomic_load_explicit(&bucket->at[i], memory_order_relaxed) == NULL) {
			*ret = i;
			return true;
		}
	}
	return false;
}

static void publish_entry(struct bucket *bucket, unsigned index, struct store_entry *entry)
{
	rcu_publish(&bucket->at[index], entry);
	uint64_t tags = atomic_load_explicit(&bucket->tags[index / 8], memory_order_relaxed);
	tags &= ~(UINT64_C(0xff) << (index % 8 * 8));
	tags |= (uint64_t)tag_of(entry->hash) << (index % 8 * 8);
	atomic_store_explicit(&bucket->tags[index / 8], tags, memory_order_release);
}

/* Where the TTLs stand goes behind the message; false when it is not well formed. */
static bool find_ttls(uint8_t *msg, size_t len, size_t at, unsigned left)
{
	uint8_t *out = msg + ((len + 1) & ~(size_t)1);
	for (; left > 0; left--, out += 2) {
		int end = dns_name_skip(msg, len, at);
		if (end < 0 || (size_t)end + 10 > len)
			return false;
		uint16_t off = (uint16_t)(end + 4);
		memcpy(out, &off, 2);
		at = (size_t)end + 10U + dns_get16(msg + end + 8);
	}
	return true;
}

static void fill_entry(struct store_entry *entry, const struct store_key *key,
		       const struct store_value *value, uint16_t n_ttl)
{
	struct store_more *more = entry->more;
	*entry = (struct store_entry){
		.hash = key->hash,
		.stored_ns = value->now_ns,
		.ttl_s = value->ttl_s,
		.full_size = value->full_size,
		.qtype = key->qtype,
		.qclass = key->qclass,
		.flags = value->flags,
		.rcode = (uint8_t)value->rcode,
		.tally = value->tally,
		.n_ttl = n_ttl,
		.wire_len = (uint16_t)value->msg_len,
		.name_len = key->name_len,
		.bits = key->bits,
		.kind = (uint8_t)value->kind,
		.last_ns = value->last_ns,
		.hits = value->hits,
		.more = more,
	};
	for (int i = 0; i < DNS_SECTIONS; i++)
		entry->count[i] = dns_get16(value->msg + 6 + 2 * i);
	size_t left = store_data_len(value->msg_len, n_ttl);
	const uint8_t *from = value->msg;
	size_t take = MIN(left, (size_t)STORE_FIRST);
	memcpy(entry->data, from, take);
	for (; more != NULL; more = more->next) {
		from += take;
		left -= take;
		take = MIN(left, (size_t)STORE_MORE);
		memcpy(more->data, from, take);
	}
	assert(take == left);
}

/* Makes room within the limits, replaced entry aside; the number of entries that had to go. */
static unsigned make_room(struct shard *shard, const struct store_value *value, size_t cells,
			  bool replaces)
{
	enum { ROUNDS_MAX = 64 };
	enum store_half half = store_half_of(value->kind);
	enum store_half other = half == STORE_HALF_DENIAL ? STORE_HALF_SUCCESS : STORE_HALF_DENIAL;
	size_t limit = shard->budget - shard->budget / 16; /* the rest is for those in limbo */
	unsigned gone = 0;
	if (!replaces && shard->n_entries[half] >= shard->capacity[half])
		gone += store_evict(shard, half, value->now_ns);
	for (int i = 0; i < ROUNDS_MAX && shard->live + cells > limit; i++) {
		if (!store_evict(shard, half, value->now_ns) &&
		    !store_evict(shard, other, value->now_ns))
			break;
		gone++;
	}
	return gone;
}

static enum store_result put_locked(struct store *store, struct shard *shard,
				    const struct store_key *key, const struct store_value *value,
				    uint16_t n_ttl)
{
	unsigned place = 0;
	size_t cells = store_cells(value->msg_len, n_ttl);
	struct bucket *bucket = store_bucket_of(shard, key->hash);
	if (cells > shard->budget / 4)
		return STORE_REFUSED;
	struct store_entry *old = find_kind(bucket, key, value->kind, &place);
	unsigned gone = make_room(shard, value, cells, old != NULL);
	struct store_entry *entry = store_take(shard, cells);
	if (entry == NULL) {
		/* All is in use or in limbo: there will be more room for the next one. */
		store_evict(shard, store_half_of(value->kind), value->now_ns);
		store_hand_over(shard);
		return STORE_BUSY;
	}
	fill_entry(entry, key, value, n_ttl);
	entry->serial = ++shard->serial;
	old = find_kind(bucket, key, value->kind, &place); /* making room may have evicted it */
	if (old != NULL) {
		entry->visited = old->visited;
		store_retire(shard, bucket, old);
	} else if (!free_place(bucket, &place)) {
		store_retire(shard, bucket, find_weakest(bucket, value->now_ns, store->stale_s));
		gone++;
		bool freed = free_place(bucket, &place);
		assert(freed);
	}
	publish_entry(bucket, place, entry);
	store_link(shard, entry);
	return gone != 0 ? STORE_KEPT_EVICTED : STORE_KEPT;
}

enum store_result store_put(struct store *store, const struct store_key *key,
			    const struct store_value *value)
{
	struct shard *shard = shard_of(store, key->hash);
	unsigned records = (unsigned)dns_get16(value->msg + 6) + dns_get16(value->msg + 8) +
			   dns_get16(value->msg + 10);
	if (value->msg_len > STORE_MESSAGE_MAX || records > STORE_RECORDS_MAX ||
	    !find_ttls(value->msg, value->msg_len, DNS_HEADER_BYTES + (size_t)key->name_len + 4,
		       records))
		return STORE_REFUSED;
	if (pthread_mutex_trylock(&shard->lock) != 0)
		return STORE_BUSY;
	enum store_result r = STORE_REFUSED;
	if (value->epoch == atomic_load(&store->epoch)) {
		if ((value->flags & STORE_CHASED) != 0)
			atomic_store(&store->has_chased, true);
		r = put_locked(store, shard, key, value, (uint16_t)records);
	}
	pthread_mutex_unlock(&shard->lock);
	return r;
}

bool store_drop(struct store *store, const struct store_key *key, enum store_kind kind)
{
	struct shard *shard = shard_of(store, key->hash);
	unsigned place;
	if (pthread_mutex_trylock(&shard->lock) != 0)
		return false;
	struct bucket *bucket = store_bucket_of(shard, key->hash);
	struct store_entry *entry = find_kind(bucket, key, kind, &place);
	if (entry != NULL)
		store_retire(shard, bucket, entry);
	pthread_mutex_unlock(&shard->lock);
	return true;
}

/* The name of an entry, with room behind it. */
static const uint8_t *name_of(const struct store_entry *entry, uint8_t *out)
{
	size_t n = MIN((size_t)entry->name_len, (size_t)STORE_FIRST - DNS_HEADER_BYTES);
	memcpy(out, entry->data + DNS_HEADER_BYTES, n);
	for (const struct store_more *more = entry->more; more != NULL && n < entry->name_len;
	     more = more->next) {
		size_t take = MIN((size_t)entry->name_len - n, (size_t)STORE_MORE);
		memcpy(out + n, more->data, take);
		n += take;
	}
	assert(n == entry->name_len);
	return out;
}

static void flush_half(struct shard *shard, enum store_half half,
		       bool (*is_gone)(const void *ctx, const uint8_t *name), const void *ctx)
{
	uint8_t name[DNS_NAME_MAX + 8] = { 0 };
	struct store_entry *entry = shard->sieve[half].newest;
	while (entry != NULL) {
		struct store_entry *older = entry->older;
		if ((entry->flags & STORE_CHASED) != 0 ||
		    (is_gone != NULL && is_gone(ctx, name_of(entry, name))))
			store_retire(shard, store_bucket_of(shard, entry->hash), entry);
		entry = older;
	}
}

void store_flush(struct store *store, bool (*is_gone)(const void *ctx, const uint8_t *name),
		 const void *ctx)
{
	atomic_fetch_add(&store->epoch, 1);
	if (is_gone == NULL && !atomic_exchange(&store->has_chased, false))
		return;
	for (uint32_t i = 0; i < store->n_shards; i++) {
		struct shard *shard = &store->shard[i];
		pthread_mutex_lock(&shard->lock);
		for (int h = 0; h < STORE_HALVES; h++)
			flush_half(shard, (enum store_half)h, is_gone, ctx);
		pthread_mutex_unlock(&shard->lock);
	}
}

uint32_t store_epoch(const struct store *store)
{
	return atomic_load(&store->epoch);
}

/* ---- life ---- */

static uint32_t clamp_capacity(uint32_t capacity)
{
	return MIN(MAX(capacity, (uint32_t)CAPACITY_MIN), (uint32_t)CAPACITY_MAX);
}

/* Pages come into being when touched: a large cache that stays empty costs nothing. */
static void *map_pages(size_t count)
{
	void *p = mmap(NULL, count, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		abort();
	if (count >= HUGE_PAGES_FROM)
		madvise(p, count, MADV_HUGEPAGE);
	return p;
}

static void shard_init(struct store *store, struct shard *shard, struct bucket *bucket,
		       uint32_t n_buckets)
{
	pthread_mutex_init(&shard->lock, NULL);
	shard->store = store;
	shard->bucket = bucket;
	shard->n_buckets = n_buckets;
	shard->budget = store->n_cells / store->n_shards / STORE_RUN * STORE_RUN;
}

struct store *store_new(const struct store_conf *conf)
{
	uint32_t cap[STORE_HALVES] = { clamp_capacity(conf->capacity[0]),
				       clamp_capacity(conf->capacity[1]) };
	struct store *store = xcalloc(1, sizeof(*store));
	store->n_shards = SHARDS_MAX;
	store->n_cells = conf->bytes / STORE_CELL;
	while (store->n_shards > 1 && (MIN(cap[0], cap[1]) / store->n_shards < SHARD_ENTRIES_MIN ||
				       store->n_cells / store->n_shards < SHARD_CELLS_MIN))
		store->n_shards /= 2;
	store->stale_s = conf->stale_s;
	store->seed[0] = hash_process_key()->k0;
	store->seed[1] = hash_process_key()->k1;
	store->shard = aligned_alloc(64, store->n_shards * sizeof(struct shard));
	if (store->shard == NULL)
		abort();
	memset(store->shard, 0, store->n_shards * sizeof(struct shard));
	uint32_t per_shard =
		(cap[0] / store->n_shards + cap[1] / store->n_shards + BUCKET_LOAD - 1) /
		BUCKET_LOAD;
	store->table_bytes = (size_t)per_shard * store->n_shards * sizeof(struct bucket);
	store->table = map_pages(store->table_bytes);
	store->cells = map_pages(store->n_cells * STORE_CELL);
	for (uint32_t i = 0; i < store->n_shards; i++) {
		struct shard *shard = &store->shard[i];
		shard_init(store, shard, (struct bucket *)store->table + (size_t)i * per_shard,
			   per_shard);
		for (int h = 0; h < STORE_HALVES; h++)
			shard->capacity[h] = cap[h] / store->n_shards;
	}
	return store;
}

void store_free(struct store *store)
{
	if (store == NULL)
		return;
	for (uint32_t i = 0; i < store->n_shards; i++) {
		pthread_mutex_lock(&store->shard[i].lock);
		store->shard[i].closing = true;
		pthread_mutex_unlock(&store->shard[i].lock);
	}
	rcu_barrier_all(); /* what was handed over before is back */
	for (uint32_t i = 0; i < store->n_shards; i++) {
		assert(!store->shard[i].waiting);
		pthread_mutex_destroy(&store->shard[i].lock);
	}
	munmap(store->table, store->table_bytes);
	munmap(store->cells, store->n_cells * STORE_CELL);
	free(store->shard);
	free(store);
}

size_t store_count(const struct store *store, enum store_half half)
{
	size_t n = 0;
	for (uint32_t i = 0; i < store->n_shards; i++)
		n += atomic_load_explicit(&store->shard[i].n_entries[half], memory_order_relaxed);
	return n;
}

size_t store_bytes(const struct store *store)
{
	size_t n = 0;
	for (uint32_t i = 0; i < store->n_shards; i++)
		n += atomic_load_explicit(&store->shard[i].n_taken, memory_order_relaxed);
	return n * STORE_CELL;
}

size_t store_table_bytes(const struct store *store)
{
	return store->table_bytes;
}
