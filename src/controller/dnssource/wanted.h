/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The DNSRecords that a source should have. */
#pragma once

#include "api/tree.h"
#include "base/arena.h"
#include "controller/dnssource/config.h"
#include "controller/dnssource/problems.h"

/* A new list of objects; the source owns each. `config_key` is the ConfigMap, for sentences. */
json_t *dnssource_want(const json_t *object, const struct dnssource_config *config,
		       const char *config_key, struct arena *arena,
		       struct dnssource_problems *problems);
