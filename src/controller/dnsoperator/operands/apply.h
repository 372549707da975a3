/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Applies the operands: the objects that run the cluster's DNS (manifests.h). */
#pragma once

#include "base/compiler.h"
#include "controller/dnsoperator/pass.h"

struct dnsoperator_operands_state;

struct dnsoperator_operands_state *dnsoperator_operands_state_new(void);
void dnsoperator_operands_state_free(struct dnsoperator_operands_state *state);
/* Does the operator apply them here, by platform and flag? */
bool dnsoperator_operands_wanted(const struct dnsoperator_pass *pass);
/* Applies those that differ from what was applied last. One that fails does not stop the others. */
MUST_CHECK int dnsoperator_operands_apply(struct dnsoperator_pass *pass);
