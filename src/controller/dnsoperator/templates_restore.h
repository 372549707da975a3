/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Protects spec.templates from a CRD that lacks the field, and restores the list afterwards. */
#pragma once

#include "base/compiler.h"
#include "controller/dnsoperator/pass.h"

/* False when a write of the DNS object would destroy a list of which no copy is stored yet; an
 * Event reports that. */
bool dnsoperator_may_write_dns(struct dnsoperator_pass *pass);
/* Writes the plan's list back to spec.templates, if the plan has one to restore. */
MUST_CHECK int dnsoperator_restore_templates(struct dnsoperator_pass *pass);
