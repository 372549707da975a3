/* SPDX-License-Identifier: GPL-3.0-or-later */
/* loop: asks ourselves for a name that nobody else knows and ends the program when it is met a
 * third time, because then somebody we forward to forwards to us.
 *
 * Queries are counted when they arrive and not when they pass this place of the chain: a cache
 * above holds a second query for the name back until the first is answered, which it never is. */
#include "plugin/loop/loop_test.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "net/sock.h"
#include "plugin/loop/probe.h"
#include "server/query.h"
#include "server/setup.h"

enum { SEEN_MAX = 2 };
static const uint64_t try_ns = 30 * NS_PER_S; /* from the start */
static const uint64_t first_ns = NS_PER_S / 20;

struct loop_conf {
	const char *zone;
	const char *name_text;
	struct dns_qname name;
	const char *address; /* as CoreDNS prints it: host, if bound, and port */
	_Atomic uint32_t seen;
	_Atomic bool off;
	struct loop_probe probe; /* the first worker's */
	uint64_t deadline_ns;
};

/* Two random numbers below the zone. ERR_PARSE when that is too long for a name. */
static int make_name(struct loop_conf *conf, struct arena *arena)
{
	uint64_t r[2];
	rng_secure(r, sizeof(r));
	const char *zone = strcmp(conf->zone, ".") == 0 ? "" : conf->zone;
	conf->name_text = arena_printf(arena, "%llu.%llu.%s", (unsigned long long)r[0] >> 2,
				       (unsigned long long)r[1] >> 2, zone);
	int n = dns_name_from_text(slice_of(conf->name_text), conf->probe.name);
	if (n >= 0)
		dns_qname_set(&conf->name, conf->probe.name);
	return n;
}

static int loop_parse(struct plugin_inst *self, struct setup *setup)
{
	struct loop_conf *c = self->conf;
	const struct corefile_dir *d = setup->dir[0];
	int r = setup_once(setup);
	if (r < 0)
		return r;
	if (d->n_arg != 0)
		return setup_error(setup, d->arg[0].pos, "loop takes no arguments");
	if (d->has_body)
		return setup_error(setup, d->name.pos, "loop takes no options");
	c->zone = block_zone_text(setup->block, 0);
	c->off = make_name(c, setup->arena) < 0;
	return 0;
}

/* ---- counting ---- */

static void exit_for_loop(const struct loop_conf *conf, const struct query *q)
{
	char from[NET_ADDR_TEXT_MAX];
	net_addr_str(&q->client, from);
	log_msg(LOG_FATAL, "plugin/loop",
		"Loop (%s -> %s) detected for zone \"%s\", see "
		"https://coredns.io/plugins/loop#troubleshooting. Query: \"HINFO %s\"",
		from, conf->address, conf->zone, conf->name_text);
	_exit(1);
}

static void loop_announce(struct plugin_inst *self, struct query *q)
{
	struct loop_conf *c = self->conf;
	if (q->req.qtype != DNS_TYPE_HINFO || q->qname.len != c->name.len ||
	    memcmp(q->qname.wire, c->name.wire, c->name.len) != 0 || atomic_load(&c->off))
		return;
	if (atomic_fetch_add(&c->seen, 1) == SEEN_MAX) /* one worker logs it */
		exit_for_loop(c, q);
}

static enum verdict loop_serve(struct plugin_inst *self, struct query *q)
{
	(void)self;
	(void)q;
	return V_NEXT;
}

/* ---- asking ---- */

/* Our own question is no sign of a loop. What else was met stays counted: where a cache holds the
 * second meeting back, the third comes with the next question. */
static void take_back_own(struct loop_conf *conf)
{
	uint32_t seen = atomic_load(&conf->seen);
	while (seen > 0 && !atomic_compare_exchange_weak(&conf->seen, &seen, seen - 1))
		continue;
}

/* A reply to a query that was not met here came from the configuration before this one. */
static bool is_over(struct loop_probe *probe, bool answered)
{
	struct loop_conf *c = probe->ctx;
	bool last =
		(answered && atomic_load(&c->seen) > 0) || loop_now(probe->loop) >= c->deadline_ns;
	take_back_own(c);
	if (last)
		atomic_store(&c->off, true);
	return last;
}

/* Where the block listens first; all addresses: IPv4 loopback, as Go has it. */
static bool set_target(struct loop_conf *conf, const struct block *block)
{
	const char *at = strstr(block_server_label(block), "://");
	conf->address = at != NULL ? at + strlen("://") : "";
	const char *to = conf->address;
	char local[NET_ADDR_TEXT_MAX];
	if (to[0] == ':') {
		snprintf(local, sizeof(local), "127.0.0.1%s", to);
		to = local;
	}
	return net_addr_parse(slice_of(to), &conf->probe.to) == 0;
}

static int loop_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	struct loop_conf *c = self->conf;
	(void)prepare;
	c->off = !set_target(c, self->block) || c->off;
	return 0;
}

static int loop_worker_init(struct plugin_inst *self, struct worker *worker)
{
	struct loop_conf *c = self->conf;
	/* One asks for all; and on a network of a test's making nobody would hear it. */
	if (worker_slot(worker) != 1 || c->off || worker_net_ops(worker) != &net_ops_kernel)
		return 0;
	c->probe.qtype = DNS_TYPE_HINFO;
	c->probe.over = is_over;
	c->probe.ctx = c;
	c->deadline_ns = loop_now(worker_loop(worker)) + try_ns;
	loop_probe_start(&c->probe, worker_loop(worker), first_ns);
	return 0;
}

static void loop_worker_done(struct plugin_inst *self, struct worker *worker)
{
	struct loop_conf *c = self->conf;
	if (worker_slot(worker) == 1)
		loop_probe_stop(&c->probe);
}

const char *loop_name(const struct plugin_inst *self)
{
	const struct loop_conf *c = self->conf;
	return c->name_text;
}

const struct plugin loop_plugin = {
	.name = "loop",
	.conf_size = sizeof(struct loop_conf),
	.parse = loop_parse,
	.prepare = loop_prepare,
	.worker_init = loop_worker_init,
	.worker_done = loop_worker_done,
	.announce = loop_announce,
	.serve = loop_serve,
};
