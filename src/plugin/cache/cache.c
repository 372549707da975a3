/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cache: answers queries from stored replies, refreshes entries before they expire (prefetch)
 * and can serve expired ones. A hit is the stored message with the client's question and lowered
 * TTLs. Storing replies is in store_reply.c, waiting for the reply to an equal query in
 * single_flight.c, keeping the store over reloads in kept_store.c. The hook `announce`
 * loads entries into the CPU's cache while other queries of the batch are being read. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/metrics/metrics.h"
#include "plugin/cache/cache_priv.h"
#include "plugin/cache/coalesce.h"
#include "plugin/cache/conf.h"
#include "plugin/cache/count.h"
#include "plugin/cache/kept_store.h"
#include "plugin/cache/kind.h"
#include "plugin/cache/single_flight.h"
#include "plugin/cache/store_reply.h"
#include "server/subquery.h"

/* A follower waits for its leader no longer than this; a leader asks upstreams no longer. */
#define FOLLOW_NS (5 * NS_PER_S)

/* ---- keys ---- */

static uint8_t key_bits(const struct query *q)
{
	return (uint8_t)((q->req.opt.dnssec_ok ? STORE_DO : 0) |
			 ((q->req.flags & DNS_FLAG_CD) != 0 ? STORE_CD : 0));
}

/* All but the hash. Written field by field: a struct that is copied right after stalls the copy. */
static ALWAYS_INLINE void set_key(struct store_key *key, const struct query *q)
{
	key->name = q->qname.wire;
	key->name_len = q->qname.len;
	key->bits = key_bits(q);
	key->qtype = q->req.qtype;
	key->qclass = q->req.qclass;
}

void cache_key(const struct cache_conf *conf, const struct query *q, struct store_key *key)
{
	set_key(key, q);
	key->hash = store_hash(conf->store, key);
}

struct store_key cache_name_key(const struct cache_conf *conf, const struct query *q,
				unsigned label)
{
	struct store_key key = {
		.name = q->qname.wire + q->qname.label[label],
		.name_len = (uint8_t)(q->qname.len - q->qname.label[label]),
		.bits = key_bits(q),
		.qtype = 0, /* no question has this type */
		.qclass = q->req.qclass,
	};
	key.hash = store_hash(conf->store, &key);
	return key;
}

/* ---- choosing an entry ---- */

static bool is_usable(const struct cache_conf *conf, const struct store_entry *entry, uint64_t now)
{
	if (entry == NULL)
		return false;
	int64_t ttl = store_ttl(entry, now);
	return ttl > 0 || -ttl < (int64_t)conf->stale_s;
}

/* Denials go before answers; but a failure gives way to an answer, and with prefer_positive any
 * denial does. */
static struct store_entry *choose_entry(const struct cache_conf *conf,
					struct store_entry *by_kind[STORE_KINDS], uint64_t now)
{
	struct store_entry *answer =
		by_kind[STORE_WEAK] != NULL ? by_kind[STORE_WEAK] : by_kind[STORE_SUCCESS];
	if (conf->prefer_positive && conf->stale_s > 0 &&
	    is_usable(conf, by_kind[STORE_SUCCESS], now))
		return by_kind[STORE_SUCCESS];
	if (is_usable(conf, by_kind[STORE_DENIAL], now)) {
		if (by_kind[STORE_DENIAL]->rcode == DNS_RCODE_SERVFAIL &&
		    is_usable(conf, answer, now))
			return answer;
		return by_kind[STORE_DENIAL];
	}
	return is_usable(conf, answer, now) ? answer : NULL;
}

static struct store_entry *find_entry(const struct cache_conf *conf, const struct query *q,
				      const struct store_key *key, uint64_t now)
{
	struct store_entry *e[STORE_KINDS];
	bool found = store_get(conf->store, key, e);
	if (UNLIKELY(conf->nxdomain_cut) && e[STORE_DENIAL] == NULL) {
		struct store_entry *cut[STORE_KINDS];
		struct store_key name = cache_name_key(conf, q, 0);
		found |= store_get(conf->store, &name, cut);
		e[STORE_DENIAL] = cut[STORE_DENIAL];
	}
	return found ? choose_entry(conf, e, now) : NULL;
}

/* The first name above the question, counted in labels, that may cut it off. One with an underscore
 * does not: servers, CoreDNS's kubernetes among them, deny _tcp.NAME where _http._tcp.NAME is. */
static unsigned first_cut(const struct dns_qname *qname)
{
	unsigned first = 1;
	for (unsigned i = 1; i < qname->n_labels; i++) {
		if (qname->wire[qname->label[i]] != 0 && qname->wire[qname->label[i] + 1] == '_')
			first = i + 1;
	}
	return first;
}

/* RFC 8020: what is below a name that does not exist does not exist either. */
static struct store_entry *find_nxdomain_above(const struct cache_conf *conf, const struct query *q,
					       uint64_t now)
{
	for (unsigned i = first_cut(&q->qname); i < q->qname.n_labels; i++) {
		struct store_entry *e[STORE_KINDS];
		struct store_key key = cache_name_key(conf, q, i);
		store_get(conf->store, &key, e);
		if (e[STORE_DENIAL] != NULL && store_ttl(e[STORE_DENIAL], now) > 0)
			return e[STORE_DENIAL];
	}
	return NULL;
}

/* ---- replies ---- */

static uint16_t reply_flags(const struct query *q, const struct store_entry *entry)
{
	uint16_t flags = entry->flags;
	if (!q->req.opt.dnssec_ok && (q->req.flags & DNS_FLAG_AD) == 0)
		flags &= (uint16_t)~DNS_FLAG_AD;
	return (uint16_t)(DNS_FLAG_QR | flags | (q->req.flags & (DNS_FLAG_RD | DNS_FLAG_CD)));
}

/* Makes `resp` the entry's message with all TTLs set; false when memory is gone. */
static bool make_reply(struct query *q, const struct store_entry *entry, uint32_t ttl_s,
		       struct dns_resp *resp)
{
	uint8_t *msg = arena_alloc(&q->arena, store_copy_room(entry));
	if (msg == NULL)
		return false;
	store_copy(entry, ttl_s, msg);
	*resp = (struct dns_resp){
		.flags = reply_flags(q, entry),
		.rcode = entry->rcode,
		.count = { entry->count[0], entry->count[1], entry->count[2] },
		.msg = msg,
		.msg_len = entry->wire_len,
		.body_at = (uint16_t)(DNS_HEADER_BYTES + entry->name_len + 4),
		.full_size = entry->full_size,
	};
	if (entry->name_len !=
	    q->qname.len) /* a name above: its pointers lead into its own question */
		return dns_resp_thaw(resp, &q->arena) == 0;
	if (UNLIKELY(q->qname.has_upper)) /* records that point there follow the client's case */
		memcpy(msg + DNS_HEADER_BYTES, q->req.qname, entry->name_len);
	return true;
}

static enum verdict reply_from_entry(struct query *q, const struct store_entry *entry,
				     uint32_t ttl_s)
{
	return make_reply(q, entry, ttl_s, &q->resp) ? V_ANSWERED
						     : query_fail_limit(q, "out of query memory");
}

/* Whoever made it counts each time it is given. */
static ALWAYS_INLINE void count_for_maker(struct plugin_inst *self, const struct query *q,
					  const struct store_entry *entry)
{
	metrics_add(metrics_by_number[entry->tally], cache_worker(self, q)->slot, 1);
}

static void mark_visited(struct store_entry *entry)
{
	if (!atomic_load_explicit(&entry->visited, memory_order_relaxed))
		atomic_store_explicit(&entry->visited, 1, memory_order_relaxed);
}

/* ---- refreshing ---- */

static bool begin_refresh(struct store_entry *entry, uint64_t now, int64_t recheck_ns)
{
	uint8_t idle = 0;
	uint64_t retry_ms = atomic_load_explicit(&entry->retry_ms, memory_order_relaxed);
	if (recheck_ns > 0 && now < entry->stored_ns + retry_ms * NS_PER_MS)
		return false;
	return atomic_compare_exchange_strong(&entry->refreshing, &idle, 1);
}

static bool start_refresh(struct plugin_inst *self, struct query *q, struct store_entry *entry)
{
	if (query_sub(q, self, SUB_DETACHED, q->req.qname, q->req.qtype) == 0)
		return true;
	atomic_store(&entry->refreshing, 0);
	return false;
}

/* Counts the hit; hits too far apart are not counted together. */
static bool wants_prefetch(const struct cache_conf *conf, struct store_entry *entry, uint64_t now)
{
	uint64_t last = atomic_load_explicit(&entry->last_ns, memory_order_relaxed);
	uint32_t hits = atomic_load_explicit(&entry->hits, memory_order_relaxed);
	bool gap = last == 0 || (int64_t)(now - last) > conf->prefetch_gap_ns;
	hits = gap ? 1 : hits + 1;
	atomic_store_explicit(&entry->last_ns, now, memory_order_relaxed);
	atomic_store_explicit(&entry->hits, hits, memory_order_relaxed);
	uint64_t threshold = ((uint64_t)conf->prefetch_percent * entry->ttl_s + 99) / 100;
	return (int64_t)hits >= conf->prefetch && store_ttl(entry, now) <= (int64_t)threshold;
}

static void refresh_in_background(struct plugin_inst *self, struct query *q,
				  struct store_entry *entry, int64_t recheck_ns)
{
	if (begin_refresh(entry, query_now(q), recheck_ns) && start_refresh(self, q, entry))
		cache_count(self, q, CACHE_PREFETCHES);
}

/* ---- what has expired ---- */

static uint32_t stale_ttl(const struct cache_conf *conf, const struct store_entry *entry)
{
	return conf->stale_ttl_s != 0 ? conf->stale_ttl_s : conf->keepttl ? entry->ttl_s : 0;
}

static enum verdict reply_stale(struct plugin_inst *self, struct query *q,
				const struct store_entry *entry)
{
	cache_count(self, q, CACHE_STALE);
	return reply_from_entry(q, entry, stale_ttl(self->conf, entry));
}

/* Waits for a refresh, of its own or one that others wait for already. */
static enum verdict verify_stale(struct plugin_inst *self, struct query *q,
				 struct store_entry *entry, const struct store_key *key)
{
	const struct cache_conf *conf = self->conf;
	struct cache_worker *worker = cache_worker(self, q);
	uint64_t now = query_now(q);
	bool tracked = conf->verify_ns > 0 || conf->recheck_ns > 0;
	if (tracked && !begin_refresh(entry, now, conf->recheck_ns))
		return reply_stale(self, q, entry);
	struct pass *pass = query_state(q, self);
	bool joined = !tracked && flight_waits(worker, key->hash);
	if (pass == NULL || !query_may_wait(q) ||
	    !make_reply(q, entry, stale_ttl(conf, entry), &pass->instead) ||
	    (!joined && !start_refresh(self, q, entry))) {
		if (tracked)
			atomic_store(&entry->refreshing, 0);
		return reply_stale(self, q, entry);
	}
	pass->mode = PASS_VERIFY;
	pass->flags = q->req.flags;
	flight_wait_ahead(worker, &pass->flight, q, key->hash);
	query_resume_at(q, now + (conf->verify_ns > 0 ? (uint64_t)conf->verify_ns : 2 * FOLLOW_NS));
	return V_WAIT;
}

static enum verdict serve_stale(struct plugin_inst *self, struct query *q,
				struct store_entry *entry, const struct store_key *key)
{
	const struct cache_conf *conf = self->conf;
	if (conf->verify)
		return verify_stale(self, q, entry, key);
	refresh_in_background(self, q, entry, conf->recheck_ns);
	return reply_stale(self, q, entry);
}

/* ---- down the chain ---- */

static enum verdict pass_downstream(struct query *q, struct pass *pass, enum pass_mode mode)
{
	assert(!pass->down);
	pass->mode = mode;
	pass->flags = q->req.flags;
	pass->down = true;
	q->req.flags |= DNS_FLAG_AD; /* what is stored must have been asked for with AD */
	return V_NEXT;
}

static void restore_request(struct query *q, struct pass *pass)
{
	if (!pass->down)
		return;
	pass->down = false;
	q->req.flags = pass->flags;
}

static bool may_share_reply(const struct query *q)
{
	return q->req.qtype != DNS_TYPE_AXFR && q->req.qtype != DNS_TYPE_IXFR;
}

/* The leader might be waiting for a sub-query, so that one asks by itself, too; but not where many
 * do already: aliases of one name come by the thousand. */
static bool asks_at_once(const struct query *q, unsigned n_asking)
{
	return n_asking == 0 || (q->is_sub && n_asking < FLIGHT_ASKING_MAX);
}

static enum verdict serve_miss(struct plugin_inst *self, struct query *q,
			       const struct store_key *key)
{
	struct cache_worker *worker = cache_worker(self, q);
	cache_count(self, q, CACHE_MISSES);
	struct pass *pass = query_state(q, self);
	if (pass == NULL)
		return V_NEXT;
	if (!may_share_reply(q))
		return pass_downstream(q, pass, PASS_MISS);
	if (asks_at_once(q, flight_asking(worker, key->hash))) {
		flight_ask(worker, &pass->flight, q, key->hash);
		return pass_downstream(q, pass, PASS_MISS);
	}
	uint64_t due = query_now(q) + FOLLOW_NS;
	pass->mode = PASS_FOLLOW;
	flight_wait(worker, &pass->flight, q, key->hash);
	query_resume_at(q, q->deadline_ns != 0 ? MIN(due, q->deadline_ns) : due);
	return V_WAIT;
}

static enum verdict serve_refresh(struct plugin_inst *self, struct query *q,
				  const struct store_key *key)
{
	const struct cache_conf *conf = self->conf;
	struct pass *pass = query_state(q, self);
	if (pass == NULL)
		return V_DROP;
	const struct store_entry *entry = find_entry(conf, q, key, query_now(q));
	if (entry != NULL) {
		pass->has_old = true;
		pass->was_stale = store_ttl(entry, query_now(q)) <= 0;
		pass->old_kind = entry->kind;
		pass->old_serial = entry->serial;
		pass->old_hits = atomic_load_explicit(&entry->hits, memory_order_relaxed);
	}
	return pass_downstream(q, pass, PASS_REFRESH);
}

static enum verdict serve_hit(struct plugin_inst *self, struct query *q, struct store_entry *entry,
			      const struct store_key *key, uint64_t now)
{
	const struct cache_conf *conf = self->conf;
	int64_t ttl = store_ttl(entry, now);
	cache_count(self, q, entry->kind == STORE_DENIAL ? CACHE_HITS_DENIAL : CACHE_HITS_SUCCESS);
	mark_visited(entry);
	if (entry->tally != 0)
		count_for_maker(self, q, entry);
	if (UNLIKELY(ttl <= 0))
		return serve_stale(self, q, entry, key);
	if (conf->prefetch > 0 && wants_prefetch(conf, entry, now))
		refresh_in_background(self, q, entry, 0);
	if (UNLIKELY(conf->keepttl))
		return reply_from_entry(q, entry, entry->ttl_s);
	enum verdict verdict = reply_from_entry(q, entry, (uint32_t)ttl);
	/* A note holds for the name of the entry and the time at which it expires. The reply to a
	 * sub-query or a rewritten one is for another name, too. */
	if (q->resp.msg != NULL && !q->is_sub && q->question == q->req.qname) {
		q->resp.note = &entry->note;
		q->resp.noted = atomic_load_explicit(&entry->note, memory_order_relaxed);
	}
	return verdict;
}

/* The last entries of the batch are loaded while the first is served. */
static void cpu_prefetch_rest(const struct cache_conf *conf, struct cache_worker *worker)
{
	for (; worker->n_loaded < worker->n_announced; worker->n_loaded++)
		store_cpu_prefetch_entry(conf->store, worker->announced[worker->n_loaded].hash);
}

/* The key, its hash taken over from when the query was announced. Should the name be another one by
 * now and have the same 32-bit hash, then an entry is missed or cannot be found: nothing worse. */
static ALWAYS_INLINE void announced_key(const struct cache_conf *conf, struct cache_worker *worker,
					const struct query *q, struct store_key *key)
{
	if (worker->n_loaded < worker->n_announced)
		cpu_prefetch_rest(conf, worker);
	set_key(key, q);
	while (worker->n_served < worker->n_announced) {
		const struct announced_query *n = &worker->announced[worker->n_served++];
		if (n->q != q)
			continue;
		if (n->name_hash != q->qname.hash[0] || n->qtype != key->qtype ||
		    n->bits != key->bits)
			break;
		key->hash = n->hash;
		return;
	}
	key->hash = store_hash(conf->store, key);
}

static bool is_cacheable_query(const struct cache_conf *conf, const struct query *q)
{
	return q->req.opcode == DNS_OPCODE_QUERY &&
	       (conf->all_names || zone_list_match(&conf->zones, &q->qname) >= 0);
}

static enum verdict cache_serve(struct plugin_inst *self, struct query *q)
{
	const struct cache_conf *conf = self->conf;
	struct cache_worker *worker = cache_worker(self, q);
	if (!is_cacheable_query(conf, q))
		return V_NEXT;
	struct store_key key;
	announced_key(conf, worker, q, &key);
	if (UNLIKELY(query_is_refresh(q, self)))
		return serve_refresh(self, q, &key);
	uint64_t now = query_now(q);
	cache_count(self, q, CACHE_REQUESTS);
	struct store_entry *entry = find_entry(conf, q, &key, now);
	if (entry == NULL && UNLIKELY(conf->nxdomain_cut))
		entry = find_nxdomain_above(conf, q, now);
	return entry != NULL ? serve_hit(self, q, entry, &key, now) : serve_miss(self, q, &key);
}

static void cache_announce(struct plugin_inst *self, struct query *q)
{
	enum { AHEAD = 6 }; /* a bucket needs about the time of so many queries to come */
	const struct cache_conf *conf = self->conf;
	struct cache_worker *worker = cache_worker(self, q);
	if (worker->n_announced == ANNOUNCED_MAX || worker->n_served != 0) /* a new batch */
		worker->n_announced = worker->n_loaded = worker->n_served = 0;
	struct store_key key;
	cache_key(conf, q, &key);
	store_cpu_prefetch_bucket(conf->store, key.hash);
	if (worker->n_announced - worker->n_loaded > AHEAD)
		store_cpu_prefetch_entry(conf->store, worker->announced[worker->n_loaded++].hash);
	worker->announced[worker->n_announced++] =
		(struct announced_query){ .q = q,
					  .hash = key.hash,
					  .name_hash = q->qname.hash[0],
					  .qtype = key.qtype,
					  .bits = key.bits };
}

/* ---- after a wait ---- */

static struct store_entry *find_fresh(const struct cache_conf *conf, struct query *q)
{
	uint64_t now = query_now(q);
	struct store_key key;
	cache_key(conf, q, &key);
	struct store_entry *entry = find_entry(conf, q, &key, now);
	return entry != NULL && store_ttl(entry, now) > 0 ? entry : NULL;
}

/* A leader's query is finished: followers are answered from what it stored, or some of them ask in
 * its place. */
static void wake_followers(struct plugin_inst *self, struct query *q, struct pass *pass)
{
	struct cache_worker *worker = cache_worker(self, q);
	if (pass->flight.group == NULL || !pass->flight.asks)
		return;
	uint64_t hash = pass->flight.group->hash;
	flight_remove(&pass->flight);
	if (!flight_waits(worker, hash))
		return;
	if (find_fresh(self->conf, q) != NULL)
		flight_wake(self, worker, hash, false);
	else
		flight_release(self, worker, hash);
}

/* It waited and found nothing: asks by itself, unless too many do. */
static enum verdict ask_after_wait(struct plugin_inst *self, struct query *q, struct pass *pass)
{
	struct cache_worker *worker = cache_worker(self, q);
	struct store_key key;
	if (pass->flight.asks && pass->flight.group != NULL)
		return pass_downstream(q, pass, PASS_MISS);
	flight_remove(&pass->flight);
	cache_key(self->conf, q, &key);
	if (flight_asking(worker, key.hash) >= FLIGHT_ASKING_MAX)
		return query_fail_limit(q, "too many equal queries without a reply");
	flight_ask(worker, &pass->flight, q, key.hash);
	return pass_downstream(q, pass, PASS_MISS);
}

static enum verdict cache_resume(struct plugin_inst *self, struct query *q)
{
	const struct cache_conf *conf = self->conf;
	struct pass *pass = query_state_get(q, self);
	if (pass == NULL) /* it waited, so it has one */
		return V_NEXT;
	if (pass->coalesced || (pass->mode == PASS_VERIFY && !pass->refreshed)) {
		flight_remove(&pass->flight);
		if (!pass->coalesced)
			cache_count(self, q, CACHE_STALE);
		q->resp = pass->instead;
		return V_ANSWERED;
	}
	struct store_entry *entry = find_fresh(conf, q);
	if (entry == NULL)
		return ask_after_wait(self, q, pass);
	wake_followers(self, q, pass);
	flight_remove(&pass->flight);
	mark_visited(entry);
	if (pass->mode == PASS_FOLLOW && entry->tally != 0)
		count_for_maker(self, q, entry);
	return reply_from_entry(
		q, entry, conf->keepttl ? entry->ttl_s : (uint32_t)store_ttl(entry, query_now(q)));
}

/* ---- up the chain ---- */

static bool client_gave_up(const struct query *q)
{
	return query_client_gone(q) || (q->deadline_ns != 0 && query_now(q) >= q->deadline_ns);
}

static void respond_refresh(struct plugin_inst *self, struct query *q, struct pass *pass)
{
	const struct cache_conf *conf = self->conf;
	if (q->outcome != V_ANSWERED || q->hit_limit)
		return;
	pass->refreshed = !pass->was_stale || cache_refreshes(conf, q);
	if (pass->refreshed || (conf->prefer_positive && cache_matches(q, &q->resp)))
		cache_store_reply(self, q, pass);
}

static void respond_miss(struct plugin_inst *self, struct query *q, struct pass *pass)
{
	if (!cache_store_reply(self, q, pass) && pass->flight.group != NULL)
		cache_coalesce(self, q, pass);
}

static enum verdict cache_respond(struct plugin_inst *self, struct query *q)
{
	struct pass *pass = query_state_get(q, self);
	if (pass == NULL || !pass->down)
		return V_NEXT;
	restore_request(q, pass);
	if (pass->mode == PASS_REFRESH)
		respond_refresh(self, q, pass);
	else if (q->outcome == V_ANSWERED)
		respond_miss(self, q, pass);
	else if (q->outcome == V_FAIL && q->rcode == DNS_RCODE_SERVFAIL && q->err != NULL &&
		 !q->hit_limit && !client_gave_up(q))
		cache_store_failure(self, q);
	wake_followers(self, q, pass);
	return V_NEXT;
}

/* The entry may be gone, or another may have its place. */
static void end_refresh(struct plugin_inst *self, struct query *q, struct pass *pass)
{
	const struct cache_conf *conf = self->conf;
	struct store_entry *e[STORE_KINDS];
	struct store_key key;
	cache_key(conf, q, &key);
	store_get(conf->store, &key, e);
	struct store_entry *old = pass->has_old ? e[pass->old_kind] : NULL;
	if (old == NULL && pass->has_old && conf->nxdomain_cut) {
		struct store_key cut = cache_name_key(conf, q, 0);
		store_get(conf->store, &cut, e);
		old = e[pass->old_kind];
	}
	if (old != NULL && old->serial == pass->old_serial) {
		bool retry_later = pass->was_stale && conf->recheck_ns > 0 && !pass->refreshed;
		uint64_t retry_ms =
			(query_now(q) - old->stored_ns + (uint64_t)conf->recheck_ns) / NS_PER_MS;
		atomic_store(&old->retry_ms,
			     retry_later ? (uint32_t)MIN(retry_ms, (uint64_t)UINT32_MAX) : 0);
		atomic_store(&old->refreshing, 0);
	}
	flight_wake(self, cache_worker(self, q), key.hash, pass->refreshed);
}

/* However it ended: nobody may be left waiting for it. */
static void cache_done(struct plugin_inst *self, struct query *q)
{
	struct pass *pass = query_state_get(q, self);
	if (pass == NULL)
		return;
	restore_request(q, pass);
	if (pass->mode == PASS_REFRESH)
		end_refresh(self, q, pass);
	wake_followers(self, q, pass);
}

static void cache_cancel(struct plugin_inst *self, struct query *q)
{
	struct pass *pass = query_state_get(q, self);
	if (pass != NULL)
		flight_remove(&pass->flight);
}

/* ---- life ---- */

static int cache_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	if (prepare->dry)
		return 0;
	cache_count_open(self);
	return cache_kept_open(self);
}

static void cache_teardown(struct plugin_inst *self)
{
	struct cache_conf *conf = self->conf;
	if (conf->store == NULL)
		return;
	cache_count_close(self);
	cache_kept_close(self);
}

static int cache_worker_init(struct plugin_inst *self, struct worker *worker)
{
	const struct cache_conf *conf = self->conf;
	struct cache_worker *w = xcalloc(1, sizeof(*w));
	w->cell = xcalloc(conf->n_servers * CACHE_COUNTERS, sizeof(*w->cell));
	w->scratch = xmalloc(STORE_BUFFER);
	w->slot = worker_slot(worker);
	assert(self->worker_data[w->slot] == NULL);
	self->worker_data[w->slot] = w;
	return 0;
}

static void cache_worker_done(struct plugin_inst *self, struct worker *worker)
{
	struct cache_worker *w = self->worker_data[worker_slot(worker)];
	flight_done(w);
	free(w->cell);
	free(w->scratch);
	free(w);
}

static void cache_commit(struct plugin_inst *self)
{
	cache_kept_commit(self);
}

const struct plugin cache_plugin = {
	.name = "cache",
	.opts = cache_opts,
	.n_opts = CACHE_OPTS,
	.conf_size = sizeof(struct cache_conf),
	.state_size = sizeof(struct pass),
	.parse = cache_parse,
	.prepare = cache_prepare,
	.commit = cache_commit,
	.worker_init = cache_worker_init,
	.worker_done = cache_worker_done,
	.teardown = cache_teardown,
	.announce = cache_announce,
	.serve = cache_serve,
	.respond = cache_respond,
	.resume = cache_resume,
	.cancel = cache_cancel,
	.done = cache_done,
};
