/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What parts of an engine read from its configuration. */
#pragma once

#include <stddef.h>

#include "controller/engine.h"

/* Those for lookups; may be none. */
const union net_addr *engine_dns_servers(const struct engine *engine, size_t *ret_count);
