/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forms of UPDATE records that tests send to real servers; no provider needs them. */
#pragma once

#include "dns/update.h"

/* A prerequisite: NXDOMAIN if it does not hold. */
MUST_CHECK int dns_update_require_name(struct dns_update *update, const uint8_t *name);
MUST_CHECK int dns_update_delete_name(struct dns_update *update, const uint8_t *name);
/* Back to where `saved`, a copy of the struct, was taken. */
void dns_update_rewind(struct dns_update *update, const struct dns_update *saved);
