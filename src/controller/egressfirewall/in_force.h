/* SPDX-License-Identifier: GPL-3.0-or-later */
/* On how many nodes a firewall is in force, from what agents of nodes report. Pure: no I/O, any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/slice.h"

struct in_force_node {
	const char *name;
	const char *boot_id; /* "": not known */
};

struct in_force_report {
	const char *node, *boot_id;
	const char *bypass;	      /* "": packets meet the rules */
	struct slice lines, problems; /* api/egress/node_report.h */
	struct slice released;	      /* p NULL: of an older agent */
};

enum { IN_FORCE_TEXT_MAX = 400 };

/* Of one firewall. */
struct in_force {
	char uid[64];
	int64_t generation;
	bool is_listed; /* this and the next: used while it counts */
	struct slice problem;
	size_t n, nodes;    /* in force on n of them */
	bool is_bypassed;   /* on a node packets do not meet the rules */
	const char *reason; /* static: why a node has nothing to apply the rules to; NULL: it has */
	char missing[IN_FORCE_TEXT_MAX]; /* some of the nodes where it is not, with reasons */
};

/* `firewalls`: namespace to struct in_force with uid and generation, whose other members are set here. Both
 * lists are sorted by the node's name. Where no node is known (one machine without a cluster), each report
 * stands for one. */
void in_force_count(struct map *firewalls, const struct in_force_node *nodes, size_t n_nodes,
		    const struct in_force_report *reports, size_t n_reports);

/* Calls `fn` with each report that says what a node does now: not with those of nodes that are gone, or have booted
 * since. Lists as above. */
void in_force_each_report(const struct in_force_node *nodes, size_t n_nodes,
			  const struct in_force_report *reports, size_t n_reports,
			  void (*fn)(void *ctx, const struct in_force_report *report), void *ctx);
