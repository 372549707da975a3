/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The watches of the controller, and what is found in their copies. */
#pragma once

#include "controller/controller.h"

enum {
	EGRESSFIREWALL_FIREWALLS,
	EGRESSFIREWALL_NAMES_OWN,	/* DNSNames, in the program's namespace */
	EGRESSFIREWALL_NAMES_OPENSHIFT, /* and in openshift-dns */
	EGRESSFIREWALL_NODES,
	EGRESSFIREWALL_SERVICE_CIDRS,
	EGRESSFIREWALL_NETWORK,		 /* of OpenShift: whether this is one, and its ranges */
	EGRESSFIREWALL_SLICES,		 /* EndpointSlices of the DNS servers */
	EGRESSFIREWALL_SLICES_OPENSHIFT, /* and of those of OpenShift */
	EGRESSFIREWALL_REPORTS,		 /* ConfigMaps of nodes' agents */
	EGRESSFIREWALL_WATCHES,
};

extern const struct controller_watch egressfirewall_watches[EGRESSFIREWALL_WATCHES];

/* The namespace of DNSNames: openshift-dns on OpenShift, the program's own elsewhere. */
const char *egressfirewall_names_ns(const struct controller_ctx *ctx);
/* The namespace of the DNS servers, and the watch of their EndpointSlices. */
const char *egressfirewall_servers_ns(const struct controller_ctx *ctx);
size_t egressfirewall_slices_watch(const struct controller_ctx *ctx);
/* The watch's copy of a DNSName, a reference of the caller's; NULL: there is none. */
struct kube_obj *egressfirewall_find_name(const struct controller_ctx *ctx, const char *name);

/* With the state's lock held: which rules use the object of this name. */
struct egressfirewall_users {
	bool regular, wildcard, any_depth;
};
struct egressfirewall_users egressfirewall_users_of(const struct controller_ctx *ctx,
						    const char *object);
/* With the state's lock held: queues the firewalls that use the object. One that no pass has read yet is
 * queued already. */
void egressfirewall_queue_firewalls(struct controller_ctx *ctx, const char *object);
