/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of a rule as text: their digest shows whether the kernel has the rule already, and tests read it. */
#pragma once

#include "addrset/nftables/plan.h"
#include "base/strbuf.h"

/* "to 10.0.0.0/8, accept" */
void nftables_steps_text(const struct nftables_step *steps, size_t n_steps, struct strbuf *out);
void nftables_id_text(const struct addrset_id *id, char out[NFTABLES_COUNTER_BYTES]);
