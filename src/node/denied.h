/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What becomes of samples of denied connections: an Event of the EgressFirewall for each destination, with a count,
 * and a counter for each namespace. One thread. */
#pragma once

#include <jansson.h>

#include "addrset/nftables/conntrack.h"
#include "base/compiler.h"
#include "base/err_text.h"

struct kube_client;
struct node_denied;

MUST_CHECK int node_denied_start(struct kube_client *client, const char *node_name,
				 struct node_denied **ret, struct err_text err);
void node_denied_stop(struct node_denied *denied); /* NULL is fine */

/* A connection of a pod of the firewall's namespace was denied by the rule of this text. */
void node_denied_note(struct node_denied *denied, const json_t *firewall, const char *rule_text,
		      const struct nftables_connection *sample);
