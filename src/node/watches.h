/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the agent of a node watches: the pods of its node, firewalls, nodes, the API server's addresses, and
 * DNSName objects. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "kube/informer/store.h"

struct kube_client;
struct node_watches;

enum node_watch {
	NODE_WATCH_PODS,
	NODE_WATCH_FIREWALLS,
	NODE_WATCH_NODES,
	NODE_WATCH_API, /* EndpointSlices of the Service `kubernetes` */
	NODE_WATCH_NAMES,
	NODE_WATCH_NAMESPACES, /* of one machine only */
	NODE_WATCH_COUNT,
};

struct node_watches_conf {
	struct kube_client *client; /* outlives them */
	const char *node_name;
	const char *names_ns; /* of DNSName objects */
	bool is_machine;      /* without a cluster */
	/* An object was added, changed or removed; NULL: the first list is complete. On the watch's thread. */
	void (*changed)(void *ctx, enum node_watch watch, const struct kube_obj *object);
	void *ctx;
};

MUST_CHECK int node_watches_start(const struct node_watches_conf *conf, struct node_watches **ret,
				  struct err_text err);
void node_watches_stop(struct node_watches *watches); /* NULL is fine */

/* Are the first lists of all that the policy is made from complete? */
bool node_watches_are_filled(const struct node_watches *watches);
struct kube_store *node_watches_store(const struct node_watches *watches, enum node_watch watch);
