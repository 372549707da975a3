/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Record types whose text has a structure of its own: HINFO and ISDN, HIP, AMTRELAY. */
#pragma once

#include "dns/rrtext/parser.h"

MUST_CHECK int dns_rrtext_write_hinfo(struct rrtext_lexer *lx, struct rrtext_out *out);
MUST_CHECK int dns_rrtext_write_hip(struct rrtext_lexer *lx, struct rrtext_out *out);
MUST_CHECK int dns_rrtext_write_amtrelay(struct rrtext_lexer *lx, struct rrtext_out *out);
