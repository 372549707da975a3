/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests compare the patch that keeps the copy of the templates. */
#pragma once

#include "controller/dnsoperator/status/templates_backup.h"

/* The merge patch that brings the annotation up to date; the caller's. NULL: nothing to do. */
json_t *dnsoperator_backup_patch(const json_t *dns, const struct dnsoperator_plan *plan,
				 const struct dnsoperator_facts *facts);
