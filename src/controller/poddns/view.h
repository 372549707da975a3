/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the stores say about a namespace at this moment: its policy and the cluster's facts. */
#pragma once

#include <stdbool.h>

#include "api/tree.h"
#include "base/arena.h"
#include "controller/poddns/cluster.h"
#include "controller/poddns/entries_cache.h"
#include "controller/poddns/policy.h"

struct controller_ctx;
struct kube_obj;

struct poddns_view {
	struct kube_obj *object; /* the Namespace; NULL: it is not in the store (yet) */
	const json_t *ns;	 /* its tree */
	bool is_opted_out;
	struct poddns_policy policy; /* empty where it is opted out */
	struct poddns_problems problems;
	struct poddns_cluster cluster;
	struct poddns_entries *entries; /* a reference */
	struct arena arena;
};

/* Whether pods of the namespace are never checked: kube-system, and in a cluster the program's
 * own. */
bool poddns_is_exempt(const struct controller_ctx *ctx, const char *ns);

/* Each opened view is closed by poddns_view_close. */
void poddns_view_open(const struct controller_ctx *ctx, const char *ns,
		      enum poddns_freshness freshness, struct poddns_view *ret);
void poddns_view_close(struct poddns_view *view);
