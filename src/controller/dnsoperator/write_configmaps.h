/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The step that writes the ConfigMaps: the accepted configuration to fall back to, then the
 * Corefile. */
#pragma once

#include "base/compiler.h"
#include "controller/dnsoperator/pass.h"

/* Writes what differs from the plan, and sets pass->corefile_result. Reports in the conditions of
 * the plan what keeps the Corefile from the servers. */
MUST_CHECK int dnsoperator_write_configmaps(struct dnsoperator_pass *pass);
/* On one machine, without an object or with one that is being deleted: its server has its own Corefile
 * again, and the ConfigMap, where it exists, shows that one. What was accepted is deleted: it is not
 * for the next object to fall back to. After the facts were gathered. */
MUST_CHECK int dnsoperator_reset_configmaps(struct dnsoperator_pass *pass);
/* Gives the poller the Corefile that servers should run, by its hash, and for how long it has been in
 * the ConfigMap; NULL: servers are not polled. */
void dnsoperator_want_corefile(const struct dnsoperator_pass *pass, const char *hash,
			       uint64_t age_ns);
