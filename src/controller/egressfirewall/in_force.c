/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Node by node: whoever is not found in its report is missing there. */
#include "controller/egressfirewall/in_force.h"

#include <stdio.h>
#include <string.h>

#include "api/egress/node_report.h"
#include "base/compiler.h"

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

static void add_missing(struct in_force *firewall, const char *node, struct slice why)
{
	size_t n_missing = firewall->nodes - firewall->n;
	size_t used = strlen(firewall->missing);
	if (n_missing <= NAMED_MAX)
		snprintf(firewall->missing + used, sizeof(firewall->missing) - used,
			 "%s%.63s: %.*s", used != 0 ? "; " : "", node, (int)why.n, why.p);
}

static const char *find_reason(struct slice word)
{
	static const char *const reasons[] = { EGRESS_REPORT_TARGET_MISSING,
					       EGRESS_REPORT_NOTHING_NAMED,
					       EGRESS_REPORT_UNKNOWN_ANNOTATION };
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		if (slice_eq(word, slice_of(reasons[i])))
			return reasons[i];
	}
	return NULL; /* of a newer agent */
}

static void note_problems(struct map *firewalls, struct slice problems)
{
	struct egress_report_problem problem;
	while (egress_report_next_problem(&problems, &problem)) {
		struct in_force *firewall = map_get(firewalls, problem.ns);
		if (firewall == NULL)
			continue;
		firewall->problem = problem.message;
		firewall->reason = find_reason(problem.reason);
	}
}

/* All firewalls that `report` does not list; NULL: the node has none, for this reason. */
static void count_node(struct map *firewalls, const char *node,
		       const struct in_force_report *report, const char *why)
{
	struct slice lines = report != NULL ? report->lines : SLICE("");
	struct egress_report_line line;
	const struct map_entry *entry;
	size_t pos = 0;
	if (report != NULL)
		note_problems(firewalls, report->problems);
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
			add_missing(firewall, node,
				    firewall->problem.n != 0 ? firewall->problem : slice_of(why));
		firewall->is_listed = false;
		firewall->problem = SLICE("");
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

void in_force_each_report(const struct in_force_node *nodes, size_t n_nodes,
			  const struct in_force_report *reports, size_t n_reports,
			  void (*fn)(void *ctx, const struct in_force_report *report), void *ctx)
{
	size_t at = 0;
	for (size_t i = 0; i < n_nodes; i++) {
		const struct in_force_report *report =
			find_report(reports, n_reports, nodes[i].name, &at);
		if (report != NULL && !is_outdated(&nodes[i], report))
			fn(ctx, report);
	}
	for (size_t i = 0; n_nodes == 0 && i < n_reports; i++)
		fn(ctx, &reports[i]);
}
