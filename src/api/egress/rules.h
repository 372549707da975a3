/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules of an EgressFirewall (k8s.ovn.org/v1), read from its tree and checked exactly: its published
 * schemas let odd values pass. The first rule that matches a connection decides; if none does, it is
 * allowed. Pure: no I/O, equal input gives an equal result, any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "api/egress/name.h"
#include "api/egress/range.h"
#include "api/fielderr.h"
#include "api/selector.h"
#include "base/arena.h"

#define EGRESS_GROUP	     "k8s.ovn.org"
#define EGRESS_FIREWALL_KIND "EgressFirewall"
#define EGRESS_NAME_KIND     "DNSName"
#define EGRESS_FIREWALL_NAME "default" /* a namespace has one, so named */

enum {
	EGRESS_RULES_MAX = 8000,
	EGRESS_PORTS_MAX = 256,		/* of one rule */
	EGRESS_SELECTOR_TERMS_MAX = 80, /* of one nodeSelector */
	EGRESS_WARNINGS_MAX = 32,	/* what is more is counted */
};

enum egress_action { EGRESS_ALLOW, EGRESS_DENY };
enum egress_target { EGRESS_TO_RANGE, EGRESS_TO_NAME, EGRESS_TO_NODES };
enum egress_protocol { EGRESS_TCP, EGRESS_UDP, EGRESS_SCTP };

struct egress_port {
	enum egress_protocol protocol;
	uint16_t number;
};

struct egress_rule {
	size_t index; /* in spec.egress */
	enum egress_action action;
	enum egress_target target; /* says which of the next members counts */
	struct egress_range range;
	const char *name; /* canonical; of a wildcard what follows "*." */
	bool is_wildcard;
	struct api_selector nodes;	 /* of labels; no term: all nodes */
	const struct egress_port *ports; /* none: all connections */
	size_t n_ports;
};

enum egress_warning_kind {
	EGRESS_DENY_BY_NAME,	/* clients can evade it */
	EGRESS_ONE_LABEL,	/* of a wildcard: names further below are not covered */
	EGRESS_RANGE_HOST_BITS, /* "10.0.0.1/8" means 10.0.0.0/8 */
};

struct egress_warning {
	enum egress_warning_kind kind;
	const char *field;   /* "spec.egress[3].to.dnsName" */
	const char *message; /* a sentence without full stop */
};

struct egress_rules {
	struct egress_rule *rule; /* those that are valid, in order */
	size_t n;
	bool any_depth; /* of wildcards */
	struct egress_warning *warning;
	size_t n_warnings, n_warnings_more;
};

/* Reads a whole EgressFirewall. Memory comes from the (growing) arena; names, labels and texts are
 * copied, so that the tree may go. What is not valid is added to `errors` with its field path and left
 * out of the result. Without errors `ret` has all rules. */
void egress_rules_read(const json_t *firewall, struct arena *arena, struct egress_rules *ret,
		       struct api_errors *errors);

/* Calls `fn` with each valid name of a rule, as often as it occurs. Cheaper than reading all. */
void egress_rules_each_name(const json_t *firewall,
			    void (*fn)(void *ctx, const struct egress_name *name), void *ctx);
/* Whether its wildcards cover names at any depth. */
bool egress_rules_any_depth(const json_t *firewall);
