/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A rule in words, for people: `Allow *.example.com TCP/443`. */
#pragma once

#include "api/egress/rules.h"
#include "base/strbuf.h"

void egress_rule_text(const struct egress_rule *rule, struct strbuf *out);
