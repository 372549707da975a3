/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes this node's report (api/egress/node_report.h) on a thread of its own, when it says something new:
 * the agent's loop never waits for the API. */
#pragma once

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"

struct kube_client;
struct node_report_writer;

struct node_report_conf {
	struct kube_client *client; /* outlives it */
	const char *ns;		    /* of the ConfigMap */
	const char *node_name;
	/* The pod of this agent, which owns the report: it goes with the pod. NULL: it stays. */
	const char *pod_name, *pod_uid;
};

/* Texts are borrowed until the end. */
MUST_CHECK int node_report_writer_start(const struct node_report_conf *conf,
					struct node_report_writer **ret, struct err_text err);
void node_report_writer_stop(struct node_report_writer *writer); /* NULL is fine */

/* As in api/egress/node_report.h. */
struct node_report {
	struct slice firewalls, problems, released;
	struct slice clients; /* empty: it has none, and says nothing of them */
	const char *bypass;   /* why nothing is in force; NULL: it is */
};

/* What is in force from now on. Copied; any thread. */
void node_report_writer_set(struct node_report_writer *writer, const struct node_report *report);
