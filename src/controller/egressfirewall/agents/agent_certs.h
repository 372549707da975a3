/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The certificates of nodes' agents and of the DNS servers that ask them: when each is made, and who gets which. A
 * plan without I/O, made of two of those that web hooks have (kube/webhook/hookcert.h).
 *
 * Each side has an authority of its own, so that an agent cannot pass for a server. An authority's keys are in a
 * Secret that nobody mounts; what a side mounts is a copy of its certificate and key, with the other side's bundle.
 *
 * Glossary
 *   side       agents, or servers
 *   authority  the Secret with the keys that sign a side's certificates
 *   copy       the Secret that a side mounts: tls.crt, tls.key, ca.crt */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/tree.h"
#include "base/compiler.h"
#include "base/err_text.h"
#include "kube/webhook/hookcert.h"

/* What clients call agents by: all have one certificate. */
#define EGRESSFIREWALL_AGENT_NAME "fairlead-node"

enum egressfirewall_side { EGRESSFIREWALL_AGENTS, EGRESSFIREWALL_SERVERS };
enum { EGRESSFIREWALL_SIDES = EGRESSFIREWALL_SERVERS + 1 };

struct egressfirewall_agent_certs {
	struct hookcert side[EGRESSFIREWALL_SIDES];
};

void egressfirewall_agent_certs_init(struct egressfirewall_agent_certs *certs);
void egressfirewall_agent_certs_done(struct egressfirewall_agent_certs *certs); /* wipes */

/* Does what is due for a side: 1 when its authority has changed, 0 when not, negative with a sentence. `trusting` is the
 * other side's copy as it is, NULL: none. An authority that was made and is not in there was never published: it is made
 * anew, so that everybody has it for an overlap before it signs anything. */
MUST_CHECK int egressfirewall_agent_certs_plan(struct egressfirewall_agent_certs *certs,
					       enum egressfirewall_side side,
					       const json_t *trusting, uint64_t now_s,
					       struct err_text err);

/* The `data` of a side's copy. A new tree, with secrets. */
json_t *egressfirewall_agent_certs_copy(const struct egressfirewall_agent_certs *certs,
					enum egressfirewall_side side);
