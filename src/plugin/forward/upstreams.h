/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From TO arguments to upstreams: files are read and names looked up when a configuration is
 * loaded, duplicates are dropped. */
#pragma once

#include "plugin/forward/conf.h"

/* The upstreams of a stanza, written to `up` (room for FORWARD_UPSTREAMS_MAX). With dry,
 * names are not looked up and certificates only read. */
MUST_CHECK int forward_upstreams_make(const struct forward_stanza *st,
				      const struct prepare *prepare, struct resolve_upstream **up,
				      unsigned *ret_count);
