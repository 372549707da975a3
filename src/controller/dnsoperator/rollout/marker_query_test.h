/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fuzz target reads replies of servers. */
#pragma once

#include "controller/dnsoperator/rollout/marker_query.h"

/* Reads a reply; any bytes. */
void dnsoperator_marker_answer_read(const uint8_t *msg, size_t len,
				    struct dnsoperator_marker_answer *ret);
