/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The networks of the cluster's pods and Services, whose addresses DNS servers never learn for names of
 * egress rules: whoever owns an allowed name must not open the API server with it. From trees; nothing
 * is fetched here.
 *
 * They are part of the Corefile, and a change of it makes servers start to learn anew. So they must not
 * change with each node: pod ranges of nodes that lie close together are joined to the network around
 * them, which grows with the number of nodes at its doublings only. Addresses of nodes are left out; the
 * controller of egress rules knows all of them, and leaves them out of what servers learnt. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/egress/range.h"
#include "base/strbuf.h"
#include "controller/dnsoperator/plan/cluster_facts.h"

enum { DNSOPERATOR_NEVER_MAX = 128 }; /* further ones are left out; the plugin takes 256 */

struct dnsoperator_never {
	struct egress_range v[DNSOPERATOR_NEVER_MAX]; /* ordered; none inside of another */
	size_t n;
};

void dnsoperator_never_of(const struct dnsoperator_network *network, struct dnsoperator_never *ret);
/* Are the pod ranges of the Node among them? */
bool dnsoperator_never_has(const struct dnsoperator_never *never, const json_t *node);
/* "10.96.0.0/12 fd00::/108" */
void dnsoperator_never_text(const struct dnsoperator_never *never, struct strbuf *out);
