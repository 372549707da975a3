/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes of samples of denied connections: an Event of the EgressFirewall for each destination, with a count,
 * and a counter for each namespace. One thread. */
#pragma once

#include <jansson.h>

#include "addrset/nftables/conntrack.h"

struct events;
struct node_denied;

struct node_denied *node_denied_new(struct events *events); /* borrowed */
void node_denied_free(struct node_denied *denied);	    /* NULL is fine */

/* A connection of a pod of the firewall's namespace was denied by the rule of this text. */
void node_denied_note(struct node_denied *denied, const json_t *firewall, const char *rule_text,
		      const struct nftables_connection *sample);
