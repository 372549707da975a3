/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Health checks: one prober per upstream over all threads, on the loop that saw the failure. */
#include "resolve/health.h"
#include "resolve/health_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dns/message.h"
#include "resolve/resolver.h"
#include "resolve/types_priv.h"
#include "resolve/upstream.h"

#define PROBE_TIMEOUT_NS NS_PER_S

struct resolve_probe {
	struct resolve_probe *next;
	struct resolver *resolver;
	struct resolve_upstream *up; /* a reference */
	struct loop_timer timer;
	struct resolve_exchange exchange;
	uint8_t msg[DNS_QUERY_MAX];
};

static void build_query(struct resolve_probe *probe)
{
	const struct resolve_conf *conf = &probe->up->conf;
	const uint8_t *name = conf->probe_domain != NULL ? conf->probe_domain : dns_name_root;
	uint16_t flags = conf->probe_no_rec ? 0 : DNS_FLAG_RD;
	probe->exchange.msg_n =
		(uint16_t)dns_message_query(probe->msg, 0, flags, name, DNS_TYPE_NS);
}

static void probe_end(struct resolve_probe *probe)
{
	assert(atomic_load_explicit(&probe->up->probing, memory_order_relaxed));
	struct resolve_probe **at = &probe->resolver->probes;
	while (*at != probe)
		at = &(*at)->next;
	*at = probe->next;
	resolve_cancel(probe->resolver, &probe->exchange);
	loop_timer_stop(probe->resolver->env.loop, &probe->timer);
	atomic_store_explicit(&probe->up->probing, false, memory_order_release);
	resolve_upstream_unref(probe->up);
	free(probe);
}

static void send_probe(struct resolve_probe *probe)
{
	probe->exchange.deadline_ns = loop_now(probe->resolver->env.loop) + PROBE_TIMEOUT_NS;
	resolve_start(probe->resolver, &probe->exchange);
}

static void ask_again(struct loop_timer *timer)
{
	send_probe(CONTAINER_OF(timer, struct resolve_probe, timer));
}

/* Any message that came back shows that a server runs there. */
static bool is_alive(const struct resolve_exchange *exchange)
{
	switch (exchange->result) {
	case RESOLVE_OK:
	case RESOLVE_GARBLED:
	case RESOLVE_MISMATCH:
		return true;
	case RESOLVE_TIMEOUT:
	case RESOLVE_NETWORK:
		break;
	}
	return false;
}

static void on_answer(struct resolve_exchange *exchange)
{
	struct resolve_probe *probe = CONTAINER_OF(exchange, struct resolve_probe, exchange);
	if (is_alive(exchange)) {
		atomic_store_explicit(&probe->up->fails, 0, memory_order_relaxed);
		probe_end(probe);
		return;
	}
	atomic_fetch_add_explicit(&probe->up->fails, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&probe->up->failed_probes, 1, memory_order_relaxed);
	loop_timer_set(probe->resolver->env.loop, &probe->timer,
		       loop_now(probe->resolver->env.loop) + probe->up->conf.probe_interval_ns);
}

void resolve_health_kick(struct resolver *resolver, struct resolve_upstream *upstream)
{
	bool idle = false;
	if (atomic_load_explicit(&upstream->probing, memory_order_relaxed) ||
	    !atomic_compare_exchange_strong_explicit(&upstream->probing, &idle, true,
						     memory_order_acquire, memory_order_relaxed))
		return;
	struct resolve_probe *probe = xcalloc(1, sizeof(*probe));
	probe->resolver = resolver;
	probe->up = resolve_upstream_ref(upstream);
	probe->timer.cb = ask_again;
	probe->exchange = (struct resolve_exchange){ .up = upstream,
						     .msg = probe->msg,
						     .tcp = upstream->conf.probe_tcp,
						     .fresh = true,
						     .done = on_answer };
	build_query(probe);
	probe->next = resolver->probes;
	resolver->probes = probe;
	send_probe(probe);
}

void resolve_health_stop(struct resolver *resolver, const struct resolve_upstream *upstream)
{
	for (struct resolve_probe *probe = resolver->probes, *next; probe != NULL; probe = next) {
		next = probe->next;
		if (upstream == NULL || probe->up == upstream)
			probe_end(probe);
	}
}
