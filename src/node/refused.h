/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes of addresses that a limit keeps out: a counter by limit, a line in the log, and one Event of the namespace's
 * EgressFirewall, which counts. One thread. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "addrset/nftables/quota.h"
#include "base/slice.h"

struct events;
struct node_refused;

/* `events` and the name are borrowed. */
struct node_refused *node_refused_new(struct events *events, const char *node_name);
void node_refused_free(struct node_refused *refused); /* NULL is fine */

struct node_refusal {
	enum nftables_limit limit;
	struct slice tenant;	/* empty: nobody's */
	const json_t *firewall; /* of the namespace; NULL: none is known */
	const char *rule_text;	/* of a rule with the name; NULL: none is known */
};

/* Counts it. True: it is to be reported, which it was not for a minute. */
bool node_refused_count(struct node_refused *refused, enum nftables_limit limit,
			struct slice tenant);
void node_refused_report(struct node_refused *refused, const struct node_refusal *refusal);
