/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The annotation dns.fairlead.dev/config: a pod's dnsConfig as JSON. */
#pragma once

#include <jansson.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err_text.h"
#include "dns/podresolv/podresolv.h"

/* Reads {"nameservers": [..], "searches": [..], "options": [{"name": .., "value": ..}]}; each
 * member may be left out, others are refused. Texts are borrowed from the tree, arrays lie in the
 * growing arena. ERR_PARSE with the path of what is wrong. */
MUST_CHECK int hook_dns_config_read(const json_t *tree, struct arena *arena,
				    struct podresolv_config *ret, struct err_text err);
