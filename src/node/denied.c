/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events are limited by kube/events: 25 destinations of a firewall, then one more every five minutes. */
#include "node/denied.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/meta.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/metrics/metrics.h"
#include "kube/events/events.h"

enum { NAMESPACES_MAX = 1000, RULE_TEXT_MAX = 300 };

struct node_denied {
	struct events *events;
	struct map namespaces; /* that have a counter */
};

static const struct metrics_family samples_family = {
	.name = "fairlead_node_denied_samples_total",
	.help = "Samples of denied packets, at most 20 per second and node.",
	.kind = METRICS_COUNTER,
	.labels = { "namespace" },
};

struct node_denied *node_denied_new(struct events *events)
{
	struct node_denied *denied = xcalloc(1, sizeof(*denied));
	denied->events = events;
	map_init(&denied->namespaces);
	return denied;
}

void node_denied_free(struct node_denied *denied)
{
	if (denied == NULL)
		return;
	map_done(&denied->namespaces);
	free(denied);
}

/* ---- one sample ---- */

/* Namespaces past the limit are counted together. */
static void count_sample(struct node_denied *denied, const char *namespace_name)
{
	static char marker[] = "counted";
	struct slice key = slice_of(namespace_name);
	bool has_counter = map_has(&denied->namespaces, key);
	if (!has_counter && denied->namespaces.n < NAMESPACES_MAX) {
		map_set(&denied->namespaces, key, marker);
		has_counter = true;
	}
	const char *values[] = { has_counter ? namespace_name : "" };
	metrics_add(metrics_get(&samples_family, values), 0, 1);
}

static const char *protocol_name(uint8_t protocol)
{
	switch (protocol) {
	case IPPROTO_TCP:
		return "TCP";
	case IPPROTO_UDP:
		return "UDP";
	case IPPROTO_SCTP:
		return "SCTP";
	default:
		return "other protocols";
	}
}

void node_denied_note(struct node_denied *denied, const json_t *firewall, const char *rule_text,
		      const struct nftables_connection *sample)
{
	char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN], action[EVENTS_WORD_MAX + 1];
	int family = sample->to.n == 4 ? AF_INET : AF_INET6;
	inet_ntop(family, sample->from.bytes, from, sizeof(from));
	inet_ntop(family, sample->to.bytes, to, sizeof(to));
	/* Events of one action are counted together. */
	snprintf(action, sizeof(action), "Connect %s", to);
	count_sample(denied, api_namespace(firewall));
	events_emit(denied->events,
		    &(struct event){ .regarding = firewall,
				     .warning = true,
				     .reason = "ConnectionDenied",
				     .action = action },
		    "pod %s may not connect to %s, %s port %u, by the rule '%.*s'", from, to,
		    protocol_name(sample->protocol), sample->port, RULE_TEXT_MAX, rule_text);
}
