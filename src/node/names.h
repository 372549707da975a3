/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which names the rules of this node use, and which they have stopped to use: addresses of those leave the table
 * after the rules (EF-15). A name that no rule ever used is left alone, unless its DNSName is marked: a DNS server
 * may know of its rule before this node does. Pure: no I/O. One thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "addrset/addrset.h"
#include "addrset/nftables/plan.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "node/policy.h"

/* From the end of a name's last rule to the removal of its addresses: a firewall that is deleted and made again
 * (kubectl replace --force) loses none. */
#define NODE_NAMES_GRACE_NS (2 * NS_PER_S)

struct node_names;

struct node_names *node_names_new(void);
void node_names_free(struct node_names *names);

/* The table has addresses of this name, from before the start. */
void node_names_found(struct node_names *names, const struct addrset_id *id);
/* The policy is in force. True: it uses a name again whose addresses were removed, or not added. */
bool node_names_update(struct node_names *names, const struct nftables_policy *policy,
		       uint64_t now_ns);

/* When addresses have to be removed next; UINT64_MAX: none have to be. */
uint64_t node_names_due(const struct node_names *names);
/* Whether the addresses of the name are to be removed at this time. */
bool node_names_is_due(const struct node_names *names, const struct addrset_id *id,
		       uint64_t now_ns);
/* The removal of all that are due at this time has begun. A rule that uses one of them again before the end counts as one that
 * uses a name whose addresses were removed. */
void node_names_begin_removal(struct node_names *names, uint64_t now_ns);
/* They were, all that were due at this time. */
void node_names_removed(struct node_names *names, uint64_t now_ns);

/* Rules have stopped to use it: addresses that are reported for it are not added. */
bool node_names_has_left(struct node_names *names, const struct addrset_id *id, uint64_t now_ns);

/* Whether the DNSName has a mark (api/egress/unused.h). Names that it marks and that were not known yet leave as if a rule had
 * used them: reported addresses of them may be in the table. */
bool node_names_note_mark(struct node_names *names, const json_t *dnsname, uint64_t now_ns);

/* Appends a line of a node's report for each DNSName with a mark that has neither rules nor
 * addresses here in the ways that have ended. */
void node_names_list_released(const struct node_names *names, const struct node_objects *dnsnames,
			      struct strbuf *out);
