/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The store: a watch of DNSName objects feeds the rules, and a task, ten times a second, takes the
 * sightings of all workers into the table. Only the task and transfers use the table. */
#include "plugin/egressfirewall/store.h"
#include "plugin/egressfirewall/store_test.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "kube/client/client.h"
#include "kube/client/config.h"
#include "kube/decode/tree.h"
#include "kube/informer/informer.h"
#include "plugin/egressfirewall/count.h"
#include "plugin/egressfirewall/never.h"
#include "plugin/egressfirewall/sightings.h"
#include "plugin/shared/kubeaccess.h"
#include "server/query.h"
#include "server/resource.h"
#include "net/task.h"
#include "server/worker.h"

#define AREA "plugin/egressfirewall"

enum { SLOTS = 2 * WORKERS_MAX + 1 };
static const uint64_t tick_ns = 100 * NS_PER_MS;
static const uint64_t publish_ns = NS_PER_S; /* versions of the zone, at most so often */

struct egressfirewall_store {
	struct egressfirewall_rules *rules;
	bool own_rules;
	struct kube_client *client;
	struct kube_informer *informer;
	struct egressfirewall_never never;
	struct egressfirewall_sightings *_Atomic worker[SLOTS];
	uint64_t published_ns;
	bool has_refused; /* sightings; replies with them may be noted as inspected */

	pthread_mutex_t lock; /* guards learnt */
	struct egressfirewall_learnt *learnt;
	_Atomic uint32_t serial;     /* of its zone, for those without the lock */
	pthread_mutex_t listen_lock; /* guards listeners, and is held while they are called */
	struct egressfirewall_listener *listeners;
};

/* ---- the watch ---- */

static void object_set(void *ctx, struct kube_obj *obj)
{
	struct egressfirewall_store *s = ctx;
	if (!egressfirewall_rules_set(s->rules, slice_of(obj->name), kube_tree_of(obj)))
		log_debug(AREA, "DNSName \"%s\" covers no name", obj->name);
}

static void object_updated(void *ctx, struct kube_obj *old, struct kube_obj *obj)
{
	(void)old;
	object_set(ctx, obj);
}

static void object_deleted(void *ctx, struct kube_obj *last)
{
	struct egressfirewall_store *s = ctx;
	egressfirewall_rules_remove(s->rules, slice_of(last->name));
}

static void log_informer_error(void *ctx, const char *text)
{
	(void)ctx;
	log_warn(AREA, "%s", text);
}

/* Answers wait for nothing: where the kind does not exist yet, there are no rules (EF-11). */
static int start_watch(struct egressfirewall_store *store,
		       const struct egressfirewall_store_conf *conf, struct err_text err)
{
	static const char *const kept[] = { "spec.isregular", "spec.iswildcard",
					    "metadata.annotations[" EGRESSFIREWALL_DEPTH_KEY "]" };
	const struct api_kind *kind = api_kind_find("k8s.ovn.org", "DNSName");
	struct kube_config *config;
	int r = kubeaccess_open(&(struct kubeaccess){ conf->kubeconfig, conf->context,
						      conf->endpoint, conf->cert, conf->key,
						      conf->ca },
				&config, err);
	if (r < 0)
		return r;
	store->client = kube_client_new(config);
	store->informer = kube_informer_new(&(struct kube_informer_conf){
		.client = store->client,
		.kind = kind,
		.ns = conf->ns != NULL ? conf->ns : kube_config_namespace(config),
		.codec = kube_tree_codec(kind, kept, ARRAY_LEN(kept)),
	});
	kube_informer_handle(store->informer,
			     &(struct kube_handler){ .added = object_set,
						     .updated = object_updated,
						     .deleted = object_deleted,
						     .on_error = log_informer_error,
						     .ctx = store });
	return kube_informer_start(store->informer, err);
}

/* ---- the task ---- */

/* The name as objects and records have it: without final dot, no escapes. False: no name that a
 * DNSName could list. */
static bool name_text(const uint8_t *wire, char out[DNS_NAME_TEXT_MAX], struct slice *ret)
{
	size_t n = dns_name_to_text(wire, true, out);
	if (n < 2 || n - 1 > DNS_LEARNT_TEXT_MAX)
		return false;
	n--;
	for (size_t i = 0; i < n; i++) {
		char ch = out[i];
		if (!((ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') || ch == '-' ||
		      ch == '_' || ch == '.'))
			return false;
	}
	*ret = (struct slice){ out, n };
	return true;
}

static uint64_t now_s(uint64_t now_ns)
{
	return now_ns / NS_PER_S;
}

/* False: it is refused. */
static bool learn_under(struct egressfirewall_store *store, struct egressfirewall_seen *seen,
			const struct egressfirewall_rule *rule, uint64_t now_ns)
{
	seen->object = slice_of(rule->object);
	switch (egressfirewall_learnt_add(store->learnt, seen, now_s(now_ns))) {
	case EGRESSFIREWALL_NEW:
		egressfirewall_count_result(EGRESSFIREWALL_COUNT_NEW, 1);
		break;
	case EGRESSFIREWALL_EXTENDED:
		egressfirewall_count_result(EGRESSFIREWALL_COUNT_EXTENDED, 1);
		break;
	case EGRESSFIREWALL_KNOWN:
		egressfirewall_count_result(EGRESSFIREWALL_COUNT_KNOWN, 1);
		break;
	case EGRESSFIREWALL_OVER_CLIENT_LIMIT:
		egressfirewall_count_result(EGRESSFIREWALL_COUNT_CLIENT_LIMIT, 1);
		return false;
	}
	return true;
}

/* False: it is refused by a limit, and may be learnt from another answer. */
static bool learn_sighting(struct egressfirewall_store *store,
			   const struct egressfirewall_matcher *matcher,
			   const struct egressfirewall_sighting *sighting, uint64_t now_ns)
{
	char name[DNS_NAME_TEXT_MAX], target[DNS_NAME_TEXT_MAX];
	const struct egressfirewall_rule *rule[EGRESSFIREWALL_MATCH_MAX];
	struct egressfirewall_seen seen = { .ip_n = sighting->ip_n, .client = sighting->client };
	struct dns_qname qname;
	memcpy(seen.ip, sighting->ip, sizeof(seen.ip));
	if (egressfirewall_never_learns(&store->never, seen.ip, seen.ip_n)) {
		egressfirewall_count_result(EGRESSFIREWALL_COUNT_NEVER, 1);
		return true;
	}
	if (!name_text(sighting->name, name, &seen.name)) {
		egressfirewall_count_result(EGRESSFIREWALL_COUNT_ODD_NAME, 1);
		return true;
	}
	if (sighting->has_target)
		IGNORE(name_text(sighting->target, target, &seen.target)); /* it is only shown */
	/* It waited a moment in the ring. */
	if (sighting->expires_ns > now_ns)
		seen.ttl_s = (uint32_t)MIN(
			(sighting->expires_ns - now_ns + NS_PER_S - 1) / NS_PER_S, sighting->ttl_s);
	dns_qname_set(&qname, sighting->name);
	size_t n = egressfirewall_match(matcher, &qname, rule, ARRAY_LEN(rule));
	bool is_kept = true;
	for (size_t i = 0; i < n; i++)
		is_kept = learn_under(store, &seen, rule[i], now_ns) && is_kept;
	return is_kept;
}

/* Workers that have reported a pair would not do so again before its TTL is longer. Who still gets it in
 * answers is to be heard. */
static void forget_evicted(void *ctx, struct slice name, const uint8_t *ip, size_t ip_n)
{
	struct egressfirewall_store *store = ctx;
	uint8_t wire[DNS_NAME_MAX];
	if (dns_name_from_text(name, wire) < 0)
		return;
	struct egressfirewall_evicted_pair pair = {
		.name = wire,
		.ip = ip,
		.ip_n = ip_n,
		.rules = egressfirewall_rules_get(store->rules)->number,
	};
	for (size_t i = 0; i < SLOTS; i++) {
		struct egressfirewall_sightings *worker =
			atomic_load_explicit(&store->worker[i], memory_order_acquire);
		if (worker != NULL)
			egressfirewall_sightings_forget(worker, &pair);
	}
	store->has_refused = true;
}

static void take_sightings(struct egressfirewall_store *store, uint64_t now_ns)
{
	/* The matcher is replaced by this thread only. */
	const struct egressfirewall_matcher *matcher = egressfirewall_rules_get(store->rules);
	struct egressfirewall_sighting sighting;
	for (size_t i = 0; i < SLOTS; i++) {
		struct egressfirewall_sightings *from =
			atomic_load_explicit(&store->worker[i], memory_order_acquire);
		if (from == NULL)
			continue;
		while (egressfirewall_sightings_take(from, &sighting)) {
			if (learn_sighting(store, matcher, &sighting, now_ns))
				continue;
			egressfirewall_sightings_refuse(from, sighting.mark);
			store->has_refused = true;
		}
		egressfirewall_sightings_end_turn(from);
	}
}

static void forget_object(void *ctx, struct slice object)
{
	struct egressfirewall_store *s = ctx;
	egressfirewall_learnt_forget(s->learnt, object);
}

/* With the lock. */
static void note_serial(struct egressfirewall_store *store)
{
	atomic_store_explicit(&store->serial, egressfirewall_learnt_serial(store->learnt),
			      memory_order_relaxed);
}

static void call_listeners(struct egressfirewall_store *store)
{
	pthread_mutex_lock(&store->listen_lock);
	for (const struct egressfirewall_listener *l = store->listeners; l != NULL; l = l->next)
		l->fn(l->ctx);
	pthread_mutex_unlock(&store->listen_lock);
}

static void run_task(void *ctx)
{
	struct egressfirewall_store *s = ctx;
	uint64_t now_ns = clock_mono_ns();
	bool changed = false;
	pthread_mutex_lock(&s->lock);
	egressfirewall_rules_publish(s->rules, now_ns, forget_object, s);
	take_sightings(s, now_ns);
	egressfirewall_learnt_expire(s->learnt, now_s(now_ns));
	if (now_ns - s->published_ns >= publish_ns) {
		changed = egressfirewall_learnt_publish(s->learnt, now_s(now_ns), clock_wall_ns());
		note_serial(s);
		s->published_ns = now_ns;
		if (s->has_refused)
			egressfirewall_rules_renew_note(s->rules);
		s->has_refused = false;
		egressfirewall_count_table(egressfirewall_learnt_counts(s->learnt),
					   egressfirewall_rules_count(s->rules));
	}
	pthread_mutex_unlock(&s->lock);
	if (changed)
		call_listeners(s);
}

/* ---- life ---- */

static struct egressfirewall_rules *preset;
static struct egressfirewall_store *latest;

struct egressfirewall_store *egressfirewall_store_latest(void)
{
	return latest;
}

void egressfirewall_store_run(struct egressfirewall_store *store)
{
	run_task(store);
}

void egressfirewall_store_preset(struct egressfirewall_rules *rules)
{
	preset = rules;
}

static void store_free(void *value)
{
	struct egressfirewall_store *s = value;
	assert(s->listeners == NULL);
	kube_informer_free(s->informer);
	kube_client_free(s->client);
	for (size_t i = 0; i < SLOTS; i++)
		egressfirewall_sightings_free(atomic_load(&s->worker[i]));
	if (s->own_rules)
		egressfirewall_rules_free(s->rules);
	egressfirewall_never_done(&s->never);
	egressfirewall_learnt_free(s->learnt);
	pthread_mutex_destroy(&s->listen_lock);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

struct make {
	const struct egressfirewall_store_conf *conf;
	struct err_text err;
};

static int store_make(void *arg, struct task_owner *tasks, void **ret)
{
	const struct make *m = arg;
	struct egressfirewall_store *s = xcalloc(1, sizeof(*s));
	egressfirewall_count_init();
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->listen_lock, NULL);
	s->own_rules = preset == NULL;
	s->rules = s->own_rules ? egressfirewall_rules_new() : preset;
	egressfirewall_never_init(&s->never, &m->conf->never, &m->conf->learn);
	s->learnt = egressfirewall_learnt_new(&m->conf->limits, clock_wall_ns());
	egressfirewall_learnt_on_evict(
		s->learnt, (struct egressfirewall_evicted){ .fn = forget_evicted, .ctx = s });
	note_serial(s);
	int r = s->own_rules ? start_watch(s, m->conf, m->err) : 0;
	if (r < 0) {
		store_free(s);
		return r;
	}
	task_every(tasks, tick_ns, run_task, s);
	*ret = latest = s;
	return 0;
}

static char *key_of(const struct egressfirewall_store_conf *conf)
{
	const char *parts[] = { conf->kubeconfig, conf->context, conf->endpoint, conf->cert,
				conf->key,	  conf->ca,	 conf->ns };
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	strbuf_addf(&b, "egressfirewall %u %u %u %u %zu", conf->limits.pairs,
		    conf->limits.names_per_object, conf->limits.ips_per_name,
		    conf->limits.pairs_per_client, conf->limits.journal_bytes);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		strbuf_addc(&b, ' ');
		strbuf_add_quoted(&b, slice_of(parts[i] != NULL ? parts[i] : ""));
	}
	egressfirewall_networks_add(&b, &conf->never);
	egressfirewall_networks_add(&b, &conf->learn);
	return strbuf_take(&b);
}

int egressfirewall_store_get(const struct egressfirewall_store_conf *conf, struct resource **ret,
			     struct err_text reterr)
{
	CLEANUP(freep) char *key = key_of(conf);
	struct make m = { .conf = conf, .err = reterr };
	return resource_get(key, store_make, &m, store_free, ret);
}

struct egressfirewall_store *egressfirewall_store_of(const struct resource *held)
{
	return held->value;
}

/* ---- for workers and transfers ---- */

int egressfirewall_store_worker_init(struct egressfirewall_store *store, struct worker *worker)
{
	unsigned slot = worker_slot(worker);
	assert(slot < SLOTS);
	if (atomic_load_explicit(&store->worker[slot], memory_order_relaxed) != NULL)
		return 0;
	struct egressfirewall_sightings *s = egressfirewall_sightings_new();
	atomic_store_explicit(&store->worker[slot], s, memory_order_release);
	return s != NULL ? 0 : -ENOMEM;
}

struct egressfirewall_sightings *egressfirewall_store_sightings(
	const struct egressfirewall_store *store, unsigned slot)
{
	return atomic_load_explicit(&store->worker[slot], memory_order_relaxed);
}

const struct egressfirewall_rules *egressfirewall_store_rules(
	const struct egressfirewall_store *store)
{
	return store->rules;
}

uint32_t egressfirewall_store_serial(const struct egressfirewall_store *store)
{
	return atomic_load_explicit(&store->serial, memory_order_relaxed);
}

void egressfirewall_store_listen(struct egressfirewall_store *store,
				 struct egressfirewall_listener *listener)
{
	pthread_mutex_lock(&store->listen_lock);
	listener->next = store->listeners;
	store->listeners = listener;
	pthread_mutex_unlock(&store->listen_lock);
}

void egressfirewall_store_unlisten(struct egressfirewall_store *store,
				   struct egressfirewall_listener *listener)
{
	pthread_mutex_lock(&store->listen_lock);
	struct egressfirewall_listener **at = &store->listeners;
	while (*at != NULL && *at != listener)
		at = &(*at)->next;
	if (*at != NULL)
		*at = listener->next;
	pthread_mutex_unlock(&store->listen_lock);
}

struct zone_copy *egressfirewall_store_copy(struct egressfirewall_store *store)
{
	pthread_mutex_lock(&store->lock);
	struct zone_copy *copy =
		egressfirewall_learnt_copy(store->learnt, now_s(clock_mono_ns()), clock_wall_ns());
	note_serial(store);
	pthread_mutex_unlock(&store->lock);
	return copy;
}

struct zone_copy *egressfirewall_store_changes(struct egressfirewall_store *store, uint32_t serial)
{
	pthread_mutex_lock(&store->lock);
	struct zone_copy *copy = egressfirewall_learnt_changes(
		store->learnt, serial, now_s(clock_mono_ns()), clock_wall_ns());
	pthread_mutex_unlock(&store->lock);
	return copy;
}
