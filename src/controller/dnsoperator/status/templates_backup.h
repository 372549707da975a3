/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A copy of the accepted templates in an annotation of the DNS object: under a CRD without the field
 * any write of the object destroys the list (OP-36). A list that is too long for an annotation has
 * no such copy; plan/pruned_templates.h keeps one, too. */
#pragma once

#include "api/tree.h"
#include "base/compiler.h"
#include "controller/dnsoperator/pass.h"

#define DNSOPERATOR_BACKUP "dns.fairlead.dev/templates-backup" /* the annotation */

/* Sends the merge patch that brings the annotation up to date, unless the watch's copy is older than
 * our last one or the Corefile is still changing. */
MUST_CHECK int dnsoperator_backup_write(struct dnsoperator_pass *pass);
