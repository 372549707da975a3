/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Record types whose text libzscanner reads. */
#pragma once

#include "dns/rrtext/parser.h"

void dns_rrtext_scan_init(struct dns_rrtext *parser);
bool dns_rrtext_scan_knows(uint16_t type);
MUST_CHECK int dns_rrtext_scan(struct dns_rrtext *parser, uint16_t type, struct rrtext_out *out);
