/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stanza of egressfirewall. */
#pragma once

#include "plugin/egressfirewall/conf.h"

/* The plugin's parse. */
MUST_CHECK int egressfirewall_parse(struct plugin_inst *self, struct setup *setup);

enum { EGRESSFIREWALL_N_OPTS = 20 };
extern const struct opt egressfirewall_opts[EGRESSFIREWALL_N_OPTS];
