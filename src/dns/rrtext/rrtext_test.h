/* What tests of the record text parser see beside its interface. */
#pragma once

#include "dns/rrtext/rrtext.h"

/* Types in the layout table that libzscanner knows, too, are read by it from now on. */
void dns_rrtext_force_scanner(struct dns_rrtext *parser, bool on);
