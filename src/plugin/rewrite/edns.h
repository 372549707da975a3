/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What rules do to the EDNS options of a request, and how `revert` undoes it. */
#pragma once

#include "plugin/rewrite/rewrite_priv.h"

enum rewrite_result rewrite_apply_edns(const struct rewrite_rule *rule, struct rewrite_run *run);
/* Writes the options back into the request. */
MUST_CHECK int rewrite_edns_commit(struct rewrite_run *run);
/* What `revert` does to the OPT of a reply, and to what is echoed of the request. */
MUST_CHECK int rewrite_edns_undo(const struct rewrite_action *act, struct arena *arena,
				 const uint8_t **options, uint16_t *options_len);
