/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the agent of a node reports about itself: a ConfigMap in the program's namespace, written only when
 * something changes, and read by the controller of egress firewalls. Pure: no I/O, any thread.
 *
 *   metadata.labels    egress.fairlead.dev/node-report: ""
 *   data.node          the name of the node
 *   data.bootID        of the running kernel: rules do not survive it
 *   data.dataPath      empty; or why packets of pods do not meet the rules
 *   data.firewalls     a line for each firewall in force, sorted: namespace, uid, generation
 *   data.problems      a line for each firewall that has rules and nothing to apply them to: namespace, reason, message.
 *                      Such a firewall has no line in data.firewalls
 *   data.released      a line for each DNSName with a mark (unused.h) whose rules and addresses are gone here: its name,
 *                      the mark. Missing: an older agent, which removes no addresses
 *   data.clients       on one machine, a line for each address of a network namespace that a firewall applies to: namespace, address;
 *                      without link-local ones.
 *                      DNS servers hold answers to these as to pods */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/slice.h"
#include "base/strbuf.h"

#define EGRESS_REPORT_LABEL "egress.fairlead.dev/node-report"
/* Names of the ConfigMaps begin so. */
#define EGRESS_REPORT_NAME "fairlead-node-"

/* Reasons of problems. */
#define EGRESS_REPORT_TARGET_MISSING	 "TargetMissing" /* what an annotation names does not exist */
#define EGRESS_REPORT_NOTHING_NAMED	 "NothingNamed"	     /* no annotation names anything */
#define EGRESS_REPORT_UNKNOWN_ANNOTATION "UnknownAnnotation" /* of egress.fairlead.dev/ */

enum {
	EGRESS_REPORT_NAME_MAX = 253,
	/* Of `firewalls`: others of so many are not reported, and count as not in force. */
	EGRESS_REPORT_LINES_BYTES = 700 * 1000,
	EGRESS_REPORT_PROBLEMS_BYTES = 200 * 1000,
	EGRESS_REPORT_CLIENTS_BYTES = 40 * 1000,
	EGRESS_REPORT_MESSAGE_MAX = 200, /* longer ones are cut off */
	/* Of `released`: others come when these objects are gone. All fits into a ConfigMap. */
	EGRESS_REPORT_RELEASED_BYTES = 100 * 1000,
};

/* The name of a node's ConfigMap. */
void egress_report_name(const char *node, char out[EGRESS_REPORT_NAME_MAX + 1]);

/* False: there is no room for it. */
bool egress_report_add_line(struct strbuf *lines, const char *ns, const char *uid,
			    int64_t generation);

struct egress_report_line {
	struct slice ns, uid;
	int64_t generation;
};

/* Takes the first line from *lines; lines that are no such line are left out. False: there is none. */
bool egress_report_next_line(struct slice *lines, struct egress_report_line *ret);

/* Bytes of the message that are no printable ASCII become '?'. False: there is no room for it. */
bool egress_report_add_problem(struct strbuf *lines, const char *ns, const char *reason,
			       const char *message);

struct egress_report_problem {
	struct slice ns, reason, message; /* the message is printable ASCII */
};

/* As egress_report_next_line. */
bool egress_report_next_problem(struct slice *lines, struct egress_report_problem *ret);

/* False: there is no room for it. */
bool egress_report_add_released(struct strbuf *lines, const char *name, const char *mark);
/* Takes the first line, "NAME MARK", from *lines; an empty one: there is no more. */
struct slice egress_report_next_released(struct slice *lines);

/* `address` as text. False: there is no room for it. */
bool egress_report_add_client(struct strbuf *lines, const char *ns, const char *address);

struct egress_report_client {
	struct slice ns, address; /* not checked to be one */
};

/* As egress_report_next_line. */
bool egress_report_next_client(struct slice *lines, struct egress_report_client *ret);
