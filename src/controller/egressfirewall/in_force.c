/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Node by node: whoever is not found in its report is missing there. */
#include "controller/egressfirewall/in_force.h"

#include <stdio.h>
#include <string.h>

#include "api/egress/node_report.h"

enum { NAMED_MAX = 3 }; /* nodes in the text */

static const struct in_force_report *find_report(const struct in_force_report *reports, size_t n,
						 const char *node, size_t *at)
{
	while (*at < n && strcmp(reports[*at].node, node) < 0)
		++*at;
	return *at < n && strcmp(reports[*at].node, node) == 0 ? &reports[*at] : NULL;
}

/* Rules do not survive a boot: a report from before it says nothing. */
static bool is_outdated(const struct in_force_node *node, const struct in_force_report *report)
{
	return node->boot_id[0] != '\0' && report->boot_id[0] != '\0' &&
	       strcmp(node->boot_id, report->boot_id) != 0;
}

static void add_missing(struct in_force *firewall, const char *node, const char *why)
{
	size_t n_missing = firewall->nodes - firewall->n;
	size_t used = strlen(firewall->missing);
	if (n_missing <= NAMED_MAX)
		snprintf(firewall->missing + used, sizeof(firewall->missing) - used, "%s%.63s: %s",
			 used != 0 ? "; " : "", node, why);
}

/* All firewalls that `report` does not list; NULL: the node has none, for this reason. */
static void count_node(struct map *firewalls, const char *node,
		       const struct in_force_report *report, const char *why)
{
	struct slice lines = report != NULL ? report->lines : SLICE("");
	struct egress_report_line line;
	const struct map_entry *entry;
	size_t pos = 0;
	while (egress_report_next_line(&lines, &line)) {
		struct in_force *firewall = map_get(firewalls, line.ns);
		if (firewall != NULL && slice_eq(line.uid, slice_of(firewall->uid)) &&
		    line.generation == firewall->generation)
			firewall->is_listed = true;
	}
	while ((entry = map_next(firewalls, &pos)) != NULL) {
		struct in_force *firewall = entry->value;
		firewall->nodes++;
		firewall->n += firewall->is_listed;
		if (!firewall->is_listed)
			add_missing(firewall, node, why);
		firewall->is_listed = false;
	}
}

static void mark_bypassed(struct map *firewalls)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(firewalls, &pos)) != NULL)
		((struct in_force *)entry->value)->is_bypassed = true;
}

static void judge_node(struct map *firewalls, const struct in_force_node *node,
		       const struct in_force_report *report)
{
	if (report == NULL) {
		count_node(firewalls, node->name, NULL, "no agent");
	} else if (is_outdated(node, report)) {
		count_node(firewalls, node->name, NULL, "no report since the node has booted");
	} else if (report->bypass[0] != '\0') {
		mark_bypassed(firewalls);
		count_node(firewalls, node->name, NULL, report->bypass);
	} else {
		count_node(firewalls, node->name, report, "not yet");
	}
}

static void add_end(struct map *firewalls)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(firewalls, &pos)) != NULL) {
		struct in_force *firewall = entry->value;
		size_t used = strlen(firewall->missing), n = firewall->nodes - firewall->n;
		if (n > NAMED_MAX)
			snprintf(firewall->missing + used, sizeof(firewall->missing) - used,
				 "; and %zu more", n - NAMED_MAX);
	}
}

void in_force_count(struct map *firewalls, const struct in_force_node *nodes, size_t n_nodes,
		    const struct in_force_report *reports, size_t n_reports)
{
	size_t at = 0;
	for (size_t i = 0; i < n_nodes; i++)
		judge_node(firewalls, &nodes[i],
			   find_report(reports, n_reports, nodes[i].name, &at));
	for (size_t i = 0; n_nodes == 0 && i < n_reports; i++) {
		struct in_force_node node = { reports[i].node, "" };
		judge_node(firewalls, &node, &reports[i]);
	}
	add_end(firewalls);
}
