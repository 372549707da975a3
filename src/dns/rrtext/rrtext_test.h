/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests send record types through libzscanner that normally use the layout table, to compare both.
 */
#pragma once

#include "dns/rrtext/rrtext.h"

/* Types in the layout table that libzscanner knows, too, are read by it from now on. */
void dns_rrtext_force_scanner(struct dns_rrtext *parser, bool on);
