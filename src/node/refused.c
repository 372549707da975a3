/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A client that asks for a million names is refused a million times: it is reported once a minute. */
#include "node/refused.h"

#include <stdlib.h>

#include "addrset/nftables/pairs.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/metrics/metrics.h"
#include "base/strbuf.h"
#include "kube/events/events.h"

#define AREA	  "node"
#define REPORT_NS (60 * NS_PER_S)

enum { REPORTED_MAX = 4096 }; /* then all are forgotten */

struct node_refused {
	struct events *events;
	const char *node_name;
	struct map reported; /* "limit namespace": when, in seconds + 1 */
	struct metrics_series *counter[NFTABLES_LIMIT_COUNT];
};

static const struct metrics_family refused_family = {
	.name = "fairlead_node_refused_addresses_total",
	.help = "Addresses of names that were not added to the node's table, by the limit that "
		"kept them out.",
	.kind = METRICS_COUNTER,
	.labels = { "limit" },
};

/* Events of one action are counted together. */
static const struct {
	const char *label, *action, *text;
	unsigned most;
} limits[NFTABLES_LIMIT_COUNT] = {
	[NFTABLES_LIMIT_NONE] = { "", "", "", 0 },
	[NFTABLES_LIMIT_NODE] = { "node", "AddAddressToNode", "the node has", NFTABLES_PAIRS_MAX },
	[NFTABLES_LIMIT_NAMESPACE] = { "namespace", "AddAddress", "the namespace has",
				       NFTABLES_TENANT_PAIRS_MAX },
	[NFTABLES_LIMIT_NAME] = { "name", "AddAddressOfName", "one name of the namespace has",
				  NFTABLES_NAME_PAIRS_MAX },
};

struct node_refused *node_refused_new(struct events *events, const char *node_name)
{
	struct node_refused *refused = xcalloc(1, sizeof(*refused));
	refused->events = events;
	refused->node_name = node_name;
	map_init(&refused->reported);
	for (size_t i = NFTABLES_LIMIT_NODE; i < NFTABLES_LIMIT_COUNT; i++)
		refused->counter[i] =
			metrics_get(&refused_family, (const char *const[]){ limits[i].label });
	return refused;
}

void node_refused_free(struct node_refused *refused)
{
	if (refused == NULL)
		return;
	map_done(&refused->reported);
	free(refused);
}

bool node_refused_count(struct node_refused *refused, enum nftables_limit limit,
			struct slice tenant)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	uint64_t now_s = clock_mono_ns() / NS_PER_S + 1;
	metrics_add(refused->counter[limit], 0, 1);
	strbuf_addf(&key, "%d %.*s", (int)limit, (int)tenant.n, tenant.n != 0 ? tenant.p : "");
	uintptr_t last_s = (uintptr_t)map_get(&refused->reported, strbuf_slice(&key));
	if (last_s != 0 && now_s < last_s + REPORT_NS / NS_PER_S)
		return false;
	if (refused->reported.n >= REPORTED_MAX) {
		map_done(&refused->reported);
		map_init(&refused->reported);
	}
	map_set(&refused->reported, strbuf_slice(&key), (void *)(uintptr_t)now_s);
	return true;
}

void node_refused_report(struct node_refused *refused, const struct node_refusal *refusal)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	unsigned most = limits[refusal->limit].most;
	strbuf_addf(&text, "%s %u addresses in force on node %s, as many as it may have",
		    limits[refusal->limit].text, most, refused->node_name);
	if (refusal->limit == NFTABLES_LIMIT_NAME && refusal->rule_text != NULL)
		strbuf_addf(&text, " (rule '%s')", refusal->rule_text);
	log_warn(AREA, "namespace '%.*s': %s; new ones are refused until some expire",
		 (int)refusal->tenant.n, refusal->tenant.n != 0 ? refusal->tenant.p : "", text.s);
	if (refusal->firewall != NULL)
		events_emit(refused->events,
			    &(struct event){ .regarding = refusal->firewall,
					     .warning = true,
					     .reason = "TooManyAddresses",
					     .action = limits[refusal->limit].action },
			    "%s: DNS answers with new ones get SERVFAIL until some expire", text.s);
}
