/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which namespaces the clients of a trace belong to, from the names that they asked for. */
#pragma once

#include "advise/trace.h"
#include "base/slice.h"

/* Fills `ns` and `maybe_ns` of clients whose namespace the log does not name. A pod's first search
 * domain is NAMESPACE.svc.ZONE: where a name below it was missing and the client went on to svc.ZONE,
 * the client belongs to that namespace. An address may serve several (used again by another pod,
 * address translation, a cache in front). A name below another NAMESPACE.svc.ZONE that is no part of
 * such a walk might be the end of a look-up in that namespace: one too many only makes advice more
 * careful. Domains `NAMESPACE.search.ZONE` (the plugin searchpath) count as well. */
void advise_clients_place(struct advise_trace *trace, struct slice zone);
