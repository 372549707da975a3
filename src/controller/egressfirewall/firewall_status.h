/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the status of an EgressFirewall should say: each rule with what it means now, errors, warnings.
 * Only what changes with rules, nodes and addresses is in it, and no time: a steady system writes
 * nothing. */
#pragma once

#include "api/egress/rules.h"
#include "api/tree.h"
#include "controller/controller.h"

enum {
	EGRESSFIREWALL_LINES_MAX = 256, /* of rules */
	EGRESSFIREWALL_LINE_MAX = 1000, /* characters, more or less */
};

#define EGRESSFIREWALL_RULE_LINE "rule "      /* how lines of rules begin */
#define EGRESSFIREWALL_OWN_LINE	 "fairlead: " /* and those about all */

struct egressfirewall_report {
	json_t *lines;	    /* for status.messages */
	char summary[128];  /* for status.status */
	json_t *conditions; /* those before, with ours changed */
	bool changed;	    /* one of the conditions is not as before */
	bool is_early;	    /* the DNSNames of some rules were not read yet: not to be written */
};

/* `firewall` is its copy, with the conditions as they are. Takes the state's lock. */
void egressfirewall_report_init(struct egressfirewall_report *report, struct controller_ctx *ctx,
				const json_t *firewall, const struct egress_rules *rules,
				const struct api_errors *errors);
void egressfirewall_report_done(struct egressfirewall_report *report);
/* Is this text of status.status one of ours? OVN-Kubernetes has its own there. */
bool egressfirewall_is_own_summary(const char *text);
/* Where conditions are pruned: puts them before the lines. */
void egressfirewall_report_as_lines(struct egressfirewall_report *report);
