/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Polls the DNS servers: instances.h decides whom and when, marker_query.h and proxy_query.h ask.
 * A lock guards what two workers share. */
#include "controller/dnsoperator/rollout/poller.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "controller/dnsoperator/rollout/instances.h"
#include "controller/dnsoperator/rollout/proxy_query.h"

/* A kubelet needs up to 90 seconds to update a ConfigMap in its pods, and CoreDNS reads its file every
 * 30 to 45 seconds. */
#define LATE_NS		(180 * NS_PER_S)
#define LATE_MACHINE_NS (5 * NS_PER_S)

enum { AT_ONCE = 256 }; /* as many as marker_query.c queries at a time: 1.5 s when all are silent */

struct dnsoperator_poller {
	pthread_mutex_t lock; /* guards the rest; not held while it waits for answers */
	struct dnsoperator_instances instances;
	struct dnsoperator_known_corefiles texts;
	char name[DNSOPERATOR_MARKER_NAME_MAX]; /* the marker's, for queries over DNS */
};

struct dnsoperator_poller *dnsoperator_poller_new(void)
{
	struct dnsoperator_poller *poller = xcalloc(1, sizeof(*poller));
	pthread_mutex_init(&poller->lock, NULL);
	return poller;
}

void dnsoperator_poller_free(struct dnsoperator_poller *poller)
{
	if (poller == NULL)
		return;
	dnsoperator_instances_done(&poller->instances);
	pthread_mutex_destroy(&poller->lock);
	free(poller);
}

static uint64_t late_ns(const struct controller_options *options,
			enum dnsoperator_platform platform)
{
	if (options->dns_reload_ns != 0)
		return options->dns_reload_ns;
	return platform == DNSOPERATOR_MACHINE ? LATE_MACHINE_NS : LATE_NS;
}

/* Are servers polled through the API server? Those of --dns-instances, and the server of this
 * process, are polled over DNS. */
static bool is_by_proxy(const struct controller_options *options,
			enum dnsoperator_platform platform)
{
	return options->dns_by_proxy && options->n_dns_instances == 0 &&
	       platform != DNSOPERATOR_MACHINE;
}

void dnsoperator_poller_add_corefile(struct dnsoperator_poller *poller,
				     const struct controller_options *options, struct slice text,
				     const char *hash)
{
	if (!options->dns_by_proxy)
		return;
	pthread_mutex_lock(&poller->lock);
	dnsoperator_corefiles_add(&poller->texts, text, hash);
	pthread_mutex_unlock(&poller->lock);
}

bool dnsoperator_poller_want(struct dnsoperator_poller *poller,
			     const struct controller_options *options,
			     const struct dnsoperator_facts *facts, const char *hash,
			     uint64_t age_ns)
{
	pthread_mutex_lock(&poller->lock);
	poller->instances.by_proxy = is_by_proxy(options, facts->platform);
	dnsoperator_marker_name(dnsoperator_domain(facts), poller->name);
	bool changed = dnsoperator_instances_want(&poller->instances, hash,
						  late_ns(options, facts->platform), age_ns,
						  clock_mono_ns());
	pthread_mutex_unlock(&poller->lock);
	return changed;
}

bool dnsoperator_poller_recheck(struct dnsoperator_poller *poller)
{
	pthread_mutex_lock(&poller->lock);
	bool any = dnsoperator_instances_recheck(&poller->instances, clock_mono_ns());
	pthread_mutex_unlock(&poller->lock);
	return any;
}

/* ---- the servers ---- */

static void add_server(dnsoperator_servers_at *out, const union net_addr *at, struct arena *arena)
{
	char text[NET_ADDR_TEXT_MAX];
	net_addr_str(at, text);
	vec_push(out, (struct dnsoperator_server_at){ arena_strdup(arena, text), *at });
}

static void list_servers(const struct controller_options *options,
			 enum dnsoperator_platform platform, const json_t *pods,
			 struct arena *arena, dnsoperator_servers_at *out)
{
	union net_addr at;
	if (platform == DNSOPERATOR_MACHINE) {
		if (net_addr_parse_ip(slice_of(options->machine->bind), &at) < 0)
			return;
		net_addr_set_port(&at, options->machine->port);
		net_addr_avoid_wildcard(&at);
		add_server(out, &at, arena);
	} else if (options->n_dns_instances != 0) {
		for (size_t i = 0; i < options->n_dns_instances; i++)
			add_server(out, &options->dns_instances[i], arena);
	} else {
		dnsoperator_ready_pods(pods, dnsoperator_sites[platform].port, out);
	}
}

/* ---- one round ---- */

/* The servers that are polled in one round. */
struct round {
	struct dnsoperator_poller *poller;
	struct controller_ctx *ctx;
	void (*on_change)(const struct controller_ctx *ctx);
	char name[DNSOPERATOR_MARKER_NAME_MAX];
	size_t which[AT_ONCE], n; /* indexes of the instances */
	const char *pod[AT_ONCE];
	union net_addr addr[AT_ONCE];
	struct dnsoperator_marker_answer answers[AT_ONCE];
};

static void note_early_answers(void *ctx)
{
	struct round *round = ctx;
	pthread_mutex_lock(&round->poller->lock);
	bool changed = dnsoperator_instances_note_early(&round->poller->instances, round->which,
							round->answers, round->n);
	pthread_mutex_unlock(&round->poller->lock);
	if (changed)
		round->on_change(round->ctx);
}

static void ask_by_dns(struct round *round)
{
	struct dnsoperator_marker_query_opts opts = { .name = round->name,
						      .progress = note_early_answers,
						      .ctx = round };
	dnsoperator_marker_query(round->addr, round->n, &opts, round->answers);
}

static void ask_by_proxy(struct round *round, const char *ns)
{
	struct dnsoperator_poller *poller = round->poller;
	struct dnsoperator_proxy_answer *answers = xcalloc(round->n, sizeof(*answers));
	dnsoperator_proxy_query(round->ctx->conn, ns, round->pod, round->n, answers);
	pthread_mutex_lock(&poller->lock);
	for (size_t i = 0; i < round->n; i++) {
		round->answers[i] = answers[i].ack;
		dnsoperator_corefiles_translate(&poller->texts, answers[i].running,
						&round->answers[i]);
	}
	pthread_mutex_unlock(&poller->lock);
	free(answers);
}

/* Fills in the servers to poll. True when servers have gone. */
static bool begin_round(struct round *round, const dnsoperator_servers_at *list,
			struct arena *arena)
{
	struct dnsoperator_poller *poller = round->poller;
	pthread_mutex_lock(&poller->lock);
	bool changed = dnsoperator_instances_set_list(&poller->instances, list->v, list->n);
	memcpy(round->name, poller->name, sizeof(round->name));
	round->n = dnsoperator_instances_due(&poller->instances, clock_mono_ns(), round->which,
					     AT_ONCE);
	for (size_t i = 0; i < round->n; i++) {
		const struct dnsoperator_instance *e =
			&poller->instances.servers.v[round->which[i]];
		round->addr[i] = e->addr;
		round->pod[i] = arena_strdup(arena, e->name);
	}
	pthread_mutex_unlock(&poller->lock);
	return changed;
}

void dnsoperator_poller_poll(struct dnsoperator_poller *poller, struct controller_ctx *ctx,
			     const struct controller_options *options,
			     enum dnsoperator_platform platform, const json_t *pods,
			     void (*on_change)(const struct controller_ctx *ctx))
{
	CLEANUP(freep) struct round *round = xcalloc(1, sizeof(*round));
	dnsoperator_servers_at list = { 0 };
	struct arena arena;
	*round = (struct round){ .poller = poller, .ctx = ctx, .on_change = on_change };
	arena_init(&arena);
	list_servers(options, platform, pods, &arena, &list);
	bool changed = begin_round(round, &list, &arena);
	vec_done(&list);
	if (round->n != 0 && is_by_proxy(options, platform))
		ask_by_proxy(round, dnsoperator_sites[platform].ns);
	else if (round->n != 0)
		ask_by_dns(round);
	arena_done(&arena);
	pthread_mutex_lock(&poller->lock);
	uint64_t now = clock_mono_ns();
	changed = dnsoperator_instances_note_answers(&poller->instances, round->which,
						     round->answers, round->n, now) ||
		  changed;
	ctx->again_ns = dnsoperator_instances_next_ns(&poller->instances, now);
	pthread_mutex_unlock(&poller->lock);
	if (changed)
		on_change(ctx);
}

const struct dnsoperator_answers *dnsoperator_poller_view(struct dnsoperator_poller *poller,
							  struct arena *arena)
{
	struct dnsoperator_answers *v = arena_calloc(arena, sizeof(*v));
	pthread_mutex_lock(&poller->lock);
	bool any = dnsoperator_instances_view(&poller->instances, clock_mono_ns(), arena, v);
	pthread_mutex_unlock(&poller->lock);
	return any ? v : NULL;
}
