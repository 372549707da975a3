/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers on their way to pods: known ones pass, new ones wait. */
#include "plugin/egressfirewall/hold/hold.h"
#include "plugin/egressfirewall/hold/hold_test.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/metrics/metrics.h"
#include "base/strbuf.h"
#include "dns/rrwalk.h"
#include "kube/client/config.h"
#include "plugin/egressfirewall/hold/clients.h"
#include "plugin/egressfirewall/hold/hold_count.h"
#include "plugin/egressfirewall/hold/memo.h"
#include "plugin/egressfirewall/hold/needed.h"
#include "plugin/egressfirewall/hold/own_addresses.h"
#include "plugin/egressfirewall/hold/watch.h"
#include "plugin/egressfirewall/inspect.h"
#include "plugin/egressfirewall/never.h"
#include "plugin/egressfirewall/zone.h"
#include "plugin/shared/kubeaccess.h"
#include "server/query.h"
#include "server/resource.h"
#include "server/worker.h"

enum {
	SLOTS = 2 * WORKERS_MAX + 1,
	EDE_OTHER = 0,
	TTL_MAX_S = 7 * 86400, /* what an agent keeps a pair for, and so what clients may */
	REFRESH_S = 10,	       /* how often the machine's addresses are read again */
};

/* A pair stays so much longer than the TTL that a client gets; answers pass while at least MARGIN_NS of it is
 * left, so that one that is asked for again and again is renewed every few seconds, whatever its TTL. */
#define GRACE_NS  (5 * NS_PER_S)
#define RENEW_NS  (4 * NS_PER_S)
#define MARGIN_NS NS_PER_S
#define START_NS  (5 * NS_PER_S)

struct egressfirewall_hold {
	struct egressfirewall_clients *clients;
	struct egressfirewall_links *links;
	struct egressfirewall_watch *watch; /* NULL: a test's own pods */
	struct egressfirewall_never never;
	uint32_t max_per_namespace, max_per_client;
	struct egressfirewall_memo *memo[SLOTS]; /* by worker */
	struct egressfirewall_own_addresses
		own;	  /* on one machine: where its own queries come from */
	unsigned n_ticks; /* the links' thread's */
};

/* A query that waits; in its memory. */
struct egressfirewall_park {
	struct egressfirewall_ask ask;
	struct loop_msg msg; /* back to the worker */
	struct query *q;
	struct loop *loop; /* the worker's */
	struct egressfirewall_hold *hold;
	struct egressfirewall_client *client;
	struct egressfirewall_needed needed;
	uint64_t mark; /* 0: it has none */
	uint64_t until_ns, begun_ns;
};

/* ---- failures ---- */

/* The answer is replaced, above all caches. */
static enum verdict fail_answer(struct query *q, enum egressfirewall_hold_result result,
				uint64_t held_ns)
{
	const char *text = egressfirewall_hold_text(result);
	egressfirewall_hold_count(query_slot(q), result, held_ns);
	if (!q->req.opt.present)
		return query_fail(q, DNS_RCODE_SERVFAIL, text);
	query_reply(q);
	q->resp.rcode = DNS_RCODE_SERVFAIL;
	q->err = text;
	if (dns_resp_ede(&q->resp, &q->arena, EDE_OTHER, slice_of(text)) < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL, text);
	q->resp.opt_do = q->req.opt.dnssec_ok;
	return V_ANSWERED;
}

/* ---- TTLs ---- */

static uint64_t end_of(uint64_t now_ns, uint32_t ttl_s, uint64_t more_ns)
{
	return now_ns + ttl_s * NS_PER_S + more_ns;
}

/* After dns_resp_own: no record is another's. */
static void cap_ttls(struct query *q, uint32_t most_s)
{
	enum { TTL_BEFORE_RDATA = 6 };
	struct dns_rrwalk walk;
	dns_rrwalk_init(&walk, &q->resp);
	while (dns_rrwalk_next(&walk)) {
		if (walk.ttl <= most_s)
			continue;
		if (walk.rr != NULL)
			walk.rr->ttl = most_s;
		else
			dns_put32(q->resp.msg + (walk.rdata - q->resp.msg) - TTL_BEFORE_RDATA,
				  most_s);
	}
}

static bool holds_until(const struct addrset *set, const struct egressfirewall_needed *needed,
			uint64_t until_ns)
{
	for (size_t i = 0; i < needed->n_pairs; i++)
		needed->pairs[i].until_ns = until_ns;
	return set != NULL && addrset_holds(set, needed->pairs, needed->n_pairs);
}

/* The longest TTL for which all pairs are in force, of those that were not renewed; 0: none. */
static uint32_t find_ttl_in_force(const struct addrset *set,
				  const struct egressfirewall_needed *needed, uint64_t now_ns)
{
	uint32_t low = 0, high = needed->ttl_s;
	while (low < high) {
		uint32_t middle = high - (high - low) / 2;
		if (holds_until(set, needed, end_of(now_ns, middle, MARGIN_NS)))
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* ---- waiting ---- */

/* On the thread of the links. */
static void on_answered(struct egressfirewall_ask *ask)
{
	struct egressfirewall_park *park = CONTAINER_OF(ask, struct egressfirewall_park, ask);
	loop_post(park->loop, &park->msg);
}

static void on_message(struct loop_msg *msg)
{
	query_resume(CONTAINER_OF(msg, struct egressfirewall_park, msg)->q);
}

static void leave_counts(struct egressfirewall_client *client)
{
	atomic_fetch_sub_explicit(&client->n_held, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&client->tenant->n_held, 1, memory_order_relaxed);
}

/* Counts the query for its client and namespace. True: there is room. */
static bool enter_counts(const struct egressfirewall_hold *hold,
			 struct egressfirewall_client *client,
			 enum egressfirewall_hold_result *ret_why)
{
	/* The machine is many programs. */
	bool is_one = client != egressfirewall_clients_machine(hold->clients);
	uint32_t of_client = atomic_fetch_add_explicit(&client->n_held, 1, memory_order_relaxed);
	uint32_t of_tenant =
		atomic_fetch_add_explicit(&client->tenant->n_held, 1, memory_order_relaxed);
	bool is_greedy = is_one && of_client >= hold->max_per_client;
	if (!is_greedy && of_tenant < hold->max_per_namespace)
		return true;
	*ret_why =
		is_greedy ? EGRESSFIREWALL_HELD_CLIENT_LIMIT : EGRESSFIREWALL_HELD_NAMESPACE_LIMIT;
	leave_counts(client);
	return false;
}

static struct egressfirewall_park *make_park(struct plugin_inst *self, struct query *q)
{
	struct egressfirewall_state *state = query_state(q, self);
	struct egressfirewall_park *park = arena_calloc(&q->arena, sizeof(*park));
	if (state == NULL || park == NULL || dns_resp_own(&q->resp, &q->arena) < 0)
		return NULL;
	state->park = park;
	return park;
}

static enum verdict park_query(struct egressfirewall_hold *hold, struct plugin_inst *self,
			       struct query *q, struct egressfirewall_client *client,
			       const struct egressfirewall_needed *needed, uint64_t mark)
{
	enum egressfirewall_hold_result why;
	struct egressfirewall_park *park = make_park(self, q);
	if (park == NULL)
		return query_fail_limit(q, "plugin/egressfirewall: out of query memory");
	if (!enter_counts(hold, client, &why))
		return fail_answer(q, why, 0);
	if (!query_may_wait(q)) {
		leave_counts(client);
		return fail_answer(q, EGRESSFIREWALL_HELD_SERVER_LIMIT, 0);
	}
	uint64_t now = query_now(q);
	park->msg.cb = on_message;
	park->q = q;
	park->loop = query_loop(q);
	park->hold = hold;
	park->client = egressfirewall_client_ref(client);
	park->needed = *needed;
	park->mark = mark;
	park->begun_ns = now;
	park->until_ns = end_of(now, needed->ttl_s, GRACE_NS);
	for (size_t i = 0; i < needed->n_pairs; i++)
		needed->pairs[i].until_ns = park->until_ns;
	park->ask = (struct egressfirewall_ask){ .link = client->link,
						 .pairs = needed->pairs,
						 .n_pairs = needed->n_pairs,
						 .tenant = slice_of(client->tenant->ns),
						 .done = on_answered };
	egressfirewall_links_ask(hold->links, &park->ask);
	return V_WAIT;
}

enum verdict egressfirewall_hold_resume(struct plugin_inst *self, struct query *q)
{
	struct egressfirewall_state *state = query_state_get(q, self);
	assert(state != NULL && state->park != NULL);
	struct egressfirewall_park *park = state->park;
	struct egressfirewall_hold *hold = park->hold;
	enum egressfirewall_hold_result result = egressfirewall_hold_result_of(park->ask.result);
	uint64_t now = query_now(q);
	uint64_t held_ns = now > park->begun_ns ? now - park->begun_ns : 1;
	state->park = NULL;
	uint32_t ttl_s = 0;
	if (park->ask.result < 0)
		ttl_s = find_ttl_in_force(rcu_get(&park->client->link->set), &park->needed, now);
	leave_counts(park->client);
	egressfirewall_client_unref(park->client);
	if (park->ask.result < 0 && ttl_s == 0)
		return fail_answer(q, result, held_ns);
	if (park->ask.result < 0) {
		result = EGRESSFIREWALL_HELD_CAPPED;
		cap_ttls(q, ttl_s);
	} else if (park->mark != 0) {
		egressfirewall_memo_put(hold->memo[query_slot(q)], park->mark, park->until_ns);
	}
	egressfirewall_hold_count(query_slot(q), result, held_ns);
	return V_NEXT;
}

/* ---- answers ---- */

/* The common answer: a message of nothing but addresses of the name asked. Its mark, or 0: it is another one. */
static ALWAYS_INLINE uint64_t mark_of(const struct egressfirewall_memo *memo, const struct query *q,
				      uint64_t seed, uint32_t *ret_ttl_s)
{
	enum { FIXED = 12, A_BYTES = FIXED + 4, AAAA_BYTES = FIXED + 16 };
	const struct dns_resp *resp = &q->resp;
	uint64_t word;
	if (UNLIKELY(resp->msg == NULL || q->question != q->req.qname))
		return 0;
	/* Two names of one hash and the same addresses, under the same rules, would be taken for one: that can
	 * only close an address to who asked for both, and open none. */
	uint64_t mark = egressfirewall_memo_mix(memo, seed,
						(uint64_t)q->qname.len << 32 | q->qname.hash[0]);
	const uint8_t *rr = resp->msg + egressfirewall_answer_at(q),
		      *end = resp->msg + resp->msg_len;
	uint32_t ttl_s = 0;
	for (unsigned left = resp->count[DNS_ANSWER]; left > 0; left--) {
		if (UNLIKELY(end - rr < A_BYTES || !egressfirewall_is_own_address(rr)))
			return 0;
		ttl_s = MAX(ttl_s, dns_get32(rr + 6));
		size_t rdlen = dns_get16(rr + 10);
		if (LIKELY(rr[3] == DNS_TYPE_A && rdlen == 4)) {
			uint32_t address;
			memcpy(&address, rr + FIXED, 4);
			mark = egressfirewall_memo_mix(memo, mark, address);
			rr += A_BYTES;
			continue;
		}
		if (rr[3] != DNS_TYPE_AAAA || rdlen != 16 || end - rr < AAAA_BYTES)
			return 0;
		memcpy(&word, rr + FIXED, 8);
		mark = egressfirewall_memo_mix(memo, mark, word);
		memcpy(&word, rr + FIXED + 8, 8);
		mark = egressfirewall_memo_mix(memo, mark, word);
		rr += AAAA_BYTES;
	}
	*ret_ttl_s = ttl_s;
	return mark | 1;
}

/* Compares the pairs with what the node has acknowledged. */
static NOINLINE enum verdict compare_pairs(struct egressfirewall_hold *hold,
					   struct plugin_inst *self, struct query *q,
					   struct egressfirewall_client *client, uint64_t mark)
{
	if (q->outcome != V_ANSWERED || q->is_sub)
		return V_NEXT;
	struct egressfirewall_memo *memo = hold->memo[query_slot(q)];
	const struct egressfirewall_names *names = rcu_get(&client->tenant->names);
	struct egressfirewall_needed needed;
	uint64_t now = query_now(q);
	int r = egressfirewall_needed_of(q, names, &hold->never, &needed);
	if (r == ERR_LIMIT)
		return fail_answer(q, EGRESSFIREWALL_HELD_TOO_MANY, 0);
	if (r < 0)
		return query_fail_limit(q, "plugin/egressfirewall: out of query memory");
	if (UNLIKELY(needed.n_never != 0))
		egressfirewall_hold_count_never(query_slot(q), needed.n_never);
	if (needed.n_pairs == 0) {
		if (mark != 0 && needed.n_never == 0)
			egressfirewall_memo_put(memo, mark, UINT64_MAX);
		return V_NEXT;
	}
	if (UNLIKELY(needed.ttl_s > TTL_MAX_S)) {
		if (dns_resp_own(&q->resp, &q->arena) < 0)
			return query_fail_limit(q, "plugin/egressfirewall: out of query memory");
		cap_ttls(q, TTL_MAX_S);
		needed.ttl_s = TTL_MAX_S;
	}
	const struct addrset *set = rcu_get(&client->link->set);
	uint64_t later_ns = end_of(now, needed.ttl_s, RENEW_NS);
	if (holds_until(set, &needed, later_ns)) {
		if (mark != 0)
			egressfirewall_memo_put(memo, mark, later_ns);
		return V_NEXT;
	}
	if (holds_until(set, &needed, end_of(now, needed.ttl_s, MARGIN_NS)))
		return V_NEXT;
	return park_query(hold, self, q, client, &needed, mark);
}

static ALWAYS_INLINE enum verdict hold_for(struct egressfirewall_hold *hold,
					   struct plugin_inst *self, struct query *q,
					   struct egressfirewall_client *client)
{
	const struct egressfirewall_names *names = rcu_get(&client->tenant->names);
	if (names == NULL)
		return V_NEXT;
	/* No function is called from here on, which would cost as much as all of it. */
	const struct egressfirewall_memo *memo = hold->memo[q->worker->index + 1];
	const struct addrset *set = rcu_get(&client->link->set);
	uint32_t age = set != NULL && set->age != NULL
			       ? atomic_load_explicit(set->age, memory_order_acquire)
			       : 0;
	uint64_t seed =
		((uint64_t)egressfirewall_names_number(names) << 32 | client->link->number) *
			memo->key[0] +
		age;
	uint32_t ttl_s = 0;
	uint64_t mark = mark_of(memo, q, seed, &ttl_s);
	if (LIKELY(mark != 0 &&
		   egressfirewall_memo_has(memo, mark,
					   end_of(loop_now(q->worker->loop), ttl_s, MARGIN_NS))))
		return V_NEXT;
	return compare_pairs(hold, self, q, client, mark);
}

/* To a client that is no pod. Which of the machine's programs asks cannot be seen: the rules of all count. */
static NOINLINE enum verdict hold_for_machine(struct egressfirewall_hold *hold,
					      struct plugin_inst *self, struct query *q)
{
	struct egressfirewall_client *machine = egressfirewall_clients_machine(hold->clients);
	if (machine == NULL || !egressfirewall_own_addresses_has(&hold->own, &q->client))
		return V_NEXT;
	return hold_for(hold, self, q, machine);
}

enum verdict egressfirewall_hold_answer(struct egressfirewall_hold *hold, struct plugin_inst *self,
					struct query *q)
{
	struct egressfirewall_client *client =
		egressfirewall_clients_find(hold->clients, &q->client);
	if (UNLIKELY(client == NULL))
		return hold_for_machine(hold, self, q);
	return hold_for(hold, self, q, client);
}

/* ---- life ---- */

static void (*preset)(struct egressfirewall_clients *clients, unsigned number);
static unsigned preset_number;
static struct egressfirewall_hold *latest;

void egressfirewall_hold_preset(void (*fill)(struct egressfirewall_clients *clients,
					     unsigned number),
				unsigned number)
{
	preset = fill;
	preset_number = number;
}

struct egressfirewall_clients *egressfirewall_hold_clients(void)
{
	return latest->clients;
}

static void collect_state(void *ctx)
{
	const struct egressfirewall_hold *hold = ctx;
	egressfirewall_hold_count_state(egressfirewall_clients_counts(hold->clients),
					egressfirewall_links_counts(hold->links));
}

static void refresh_own(void *ctx)
{
	struct egressfirewall_hold *hold = ctx;
	if (hold->n_ticks++ % REFRESH_S == 0)
		egressfirewall_own_addresses_refresh(&hold->own);
}

static void hold_free(void *value)
{
	struct egressfirewall_hold *hold = value;
	egressfirewall_links_on_tick(hold->links, NULL, NULL);
	metrics_off_collect(collect_state, hold);
	egressfirewall_watch_stop(hold->watch);
	egressfirewall_clients_free(hold->clients);
	egressfirewall_links_free(hold->links);
	egressfirewall_never_done(&hold->never);
	egressfirewall_own_addresses_done(&hold->own);
	for (size_t i = 0; i < SLOTS; i++)
		egressfirewall_memo_free(hold->memo[i]);
	free(hold);
}

static int start_watch(struct egressfirewall_hold *hold,
		       const struct egressfirewall_hold_conf *conf, struct err_text err)
{
	struct kube_config *config;
	if (preset != NULL) {
		preset(hold->clients, preset_number);
		return 0;
	}
	int r = kubeaccess_open(&(struct kubeaccess){ conf->kubeconfig, conf->context,
						      conf->endpoint, conf->cert, conf->key,
						      conf->ca },
				&config, err);
	if (r == 0)
		r = egressfirewall_watch_start(
			config, hold->clients,
			&(struct egressfirewall_watch_conf){ conf->is_machine, conf->report_ns },
			&hold->watch, err);
	return r == 0 ? egressfirewall_watch_wait(hold->watch, START_NS) : r;
}

struct make {
	const struct egressfirewall_hold_conf *conf;
	struct err_text err;
};

static int hold_make(void *arg, struct task_owner *tasks, void **ret)
{
	(void)tasks;
	const struct make *make = arg;
	const struct egressfirewall_hold_conf *conf = make->conf;
	struct egressfirewall_hold *hold = xcalloc(1, sizeof(*hold));
	egressfirewall_hold_count_init();
	egressfirewall_never_init(&hold->never, &conf->never, &conf->learn);
	hold->max_per_namespace = conf->max_per_namespace;
	hold->max_per_client = conf->max_per_client;
	int r = egressfirewall_links_new(&conf->links, &hold->links, make->err);
	if (r < 0) {
		egressfirewall_never_done(&hold->never);
		free(hold);
		return r;
	}
	const char *node = conf->links.node != NULL ? conf->links.node : "machine";
	hold->clients = egressfirewall_clients_new(hold->links, conf->is_machine ? node : NULL);
	if (conf->is_machine) {
		refresh_own(hold);
		egressfirewall_links_on_tick(hold->links, refresh_own, hold);
	}
	metrics_on_collect(collect_state, hold);
	r = start_watch(hold, conf, make->err);
	if (r < 0) {
		hold_free(hold);
		return r;
	}
	*ret = latest = hold;
	return 0;
}

static char *key_of(const struct egressfirewall_hold_conf *conf)
{
	const struct egressfirewall_links_conf *links = &conf->links;
	const char *parts[] = { conf->kubeconfig, conf->context, conf->endpoint, conf->cert,
				conf->key,	  conf->ca,	 links->node,	 links->socket,
				links->cert,	  links->key,	 links->ca,	 links->tls_name,
				conf->report_ns };
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	strbuf_addf(&key, "egressfirewall hold %u %u %u %llu %d", conf->max_per_namespace,
		    conf->max_per_client, links->port, (unsigned long long)links->answer_ns,
		    conf->is_machine);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		strbuf_addc(&key, parts[i] != NULL ? '+' : ' ');
		strbuf_add_quoted(&key, slice_of(parts[i] != NULL ? parts[i] : ""));
	}
	egressfirewall_networks_add(&key, &conf->never);
	egressfirewall_networks_add(&key, &conf->learn);
	return strbuf_take(&key);
}

int egressfirewall_hold_get(const struct egressfirewall_hold_conf *conf, struct resource **ret,
			    struct err_text reterr)
{
	CLEANUP(freep) char *key = key_of(conf);
	struct make make = { .conf = conf, .err = reterr };
	return resource_get(key, hold_make, &make, hold_free, ret);
}

struct egressfirewall_hold *egressfirewall_hold_of(const struct resource *held)
{
	return held->value;
}

bool egressfirewall_hold_is_ready(const struct egressfirewall_hold *hold)
{
	return hold->watch == NULL || egressfirewall_watch_is_filled(hold->watch);
}

int egressfirewall_hold_worker_init(struct egressfirewall_hold *hold, struct worker *worker)
{
	unsigned slot = worker_slot(worker);
	assert(slot < SLOTS);
	if (hold->memo[slot] == NULL)
		hold->memo[slot] = egressfirewall_memo_new();
	return hold->memo[slot] != NULL ? 0 : -ENOMEM;
}
