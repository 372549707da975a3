/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The DNS operator's text for a number of templates: what servers run in a cluster. */
#pragma once

#include "base/strbuf.h"

/* Aborts where the operator would refuse so much. */
void operator_corefile(unsigned templates, unsigned zones, unsigned servers, struct strbuf *ret);
