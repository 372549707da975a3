/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests read answers of the API server's proxy. */
#pragma once

#include "controller/dnsoperator/rollout/proxy_query.h"

/* Reads one pod's answer. `result` and `st` are of the request, `body` is what came with a
 * 2xx. Never DNSOPERATOR_MARKER_MISSING: only a hash shows which Corefile it is. */
void dnsoperator_proxy_read(int result, const struct kube_status *st, struct slice body,
			    char ret_running[DNSOPERATOR_PROXY_HASH_MAX],
			    struct dnsoperator_marker_answer *ret);
