/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search list of a namespace's pods. */
#pragma once

#include "advise/trace.h"
#include "advise/walk.h"
#include "base/arena.h"
#include "base/slice.h"

/* NAMESPACE.svc.ZONE, svc.ZONE, ZONE; texts are made in the arena. */
void advise_searchlist_init(struct advise_list *list, struct slice ns, struct slice zone,
			    struct arena *arena);
/* Adds the domains of the nodes: those that more than half of the look-ups went on to that found
 * nothing in the cluster's domains. Their order is by how often they were asked. */
void advise_searchlist_infer(struct advise_list *list, const struct advise_client *const *clients,
			     size_t n_clients, struct arena *arena);
bool advise_searchlist_has(const struct advise_list *list, struct slice domain);
