/* SPDX-License-Identifier: GPL-3.0-or-later */
/* acl: refuses, empties or drops queries by zone, type and address of the client, and counts what
 * it did. */
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/metrics/metrics.h"
#include "plugin/acl/rules.h"

enum { EDE_BLOCKED = 15, EDE_FILTERED = 17 };

struct acl_conf {
	struct acl_rules rules;
};

/* A worker's memory of series it has used: labels depend on the listener and the zone, so there are
 * few of them. Texts are compared by address; both live as long as the generation. */
enum { COUNTERS = 32 };

struct counter {
	const char *server, *zone;
	enum acl_action action;
	struct metrics_series *series;
};

struct worker_counters {
	struct counter v[COUNTERS];
};

static const struct metrics_family families[ACL_ACTIONS] = {
	[ACL_ALLOW] = { .name = "coredns_acl_allowed_requests_total",
			.help = "Counter of DNS requests being allowed.",
			.kind = METRICS_COUNTER,
			.labels = { "server", "view" } },
	[ACL_BLOCK] = { .name = "coredns_acl_blocked_requests_total",
			.help = "Counter of DNS requests being blocked.",
			.kind = METRICS_COUNTER,
			.labels = { "server", "zone", "view" } },
	[ACL_FILTER] = { .name = "coredns_acl_filtered_requests_total",
			 .help = "Counter of DNS requests being filtered.",
			 .kind = METRICS_COUNTER,
			 .labels = { "server", "zone", "view" } },
	[ACL_DROP] = { .name = "coredns_acl_dropped_requests_total",
		       .help = "Counter of DNS requests being dropped.",
		       .kind = METRICS_COUNTER,
		       .labels = { "server", "zone", "view" } },
};

static void find_series(struct counter *counter, const struct query *q)
{
	const char *by_zone[] = { counter->server, counter->zone, query_view_label(q) };
	const char *in_all[] = { counter->server, query_view_label(q) };
	counter->series = metrics_get(&families[counter->action],
				      counter->action == ACL_ALLOW ? in_all : by_zone);
}

/* `zone` is NULL for ACL_ALLOW, whose counter has no such label. */
static void count_action(struct plugin_inst *self, struct query *q, enum acl_action action,
			 const char *zone)
{
	struct worker_counters *w = self->worker_data[query_slot(q)];
	const char *server = query_server_label(q);
	uintptr_t h = (uintptr_t)server / 8 + (uintptr_t)zone / 8 * 5 + action;
	struct counter *c = &w->v[h % COUNTERS];
	if (c->server != server || c->zone != zone || c->action != action) {
		*c = (struct counter){ server, zone, action, NULL };
		find_series(c, q);
	}
	metrics_add(c->series, query_slot(q), 1);
}

static enum verdict reply_with_code(struct query *q, uint16_t rcode, uint16_t ede)
{
	query_reply(q);
	q->resp.rcode = rcode;
	if (dns_resp_ede(&q->resp, &q->arena, ede, SLICE("")) < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	return V_ANSWERED;
}

static enum verdict acl_serve(struct plugin_inst *self, struct query *q)
{
	const struct acl_conf *conf = self->conf;
	const char *zone = NULL;
	enum acl_action action = acl_rules_match(&conf->rules, q, &zone);
	switch (action) {
	case ACL_NONE:
	case ACL_ALLOW:
		count_action(self, q, ACL_ALLOW, NULL);
		return V_NEXT;
	case ACL_BLOCK:
		count_action(self, q, action, zone);
		return reply_with_code(q, DNS_RCODE_REFUSED, EDE_BLOCKED);
	case ACL_FILTER:
		count_action(self, q, action, zone);
		return reply_with_code(q, DNS_RCODE_NOERROR, EDE_FILTERED);
	case ACL_DROP:
		count_action(self, q, action, zone);
		return V_DROP;
	}
	return query_fail(q, DNS_RCODE_SERVFAIL, "acl: unknown action");
}

static int acl_parse(struct plugin_inst *self, struct setup *setup)
{
	struct acl_conf *c = self->conf;
	return acl_rules_parse(setup, &c->rules);
}

static int acl_worker_init(struct plugin_inst *self, struct worker *worker)
{
	self->worker_data[worker_slot(worker)] = xcalloc(1, sizeof(struct worker_counters));
	return 0;
}

static void acl_worker_done(struct plugin_inst *self, struct worker *worker)
{
	free(self->worker_data[worker_slot(worker)]);
}

const struct plugin acl_plugin = {
	.name = "acl",
	.conf_size = sizeof(struct acl_conf),
	.parse = acl_parse,
	.worker_init = acl_worker_init,
	.worker_done = acl_worker_done,
	.serve = acl_serve,
};
