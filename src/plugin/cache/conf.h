/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of the `cache` stanza. */
#pragma once

#include "plugin/cache/cache_priv.h"

enum { CACHE_OPTS = 12 };
extern const struct opt cache_opts[CACHE_OPTS];

int cache_parse(struct plugin_inst *self, struct setup *setup);
