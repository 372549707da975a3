/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rule for search domains, for tests. */
#pragma once

#include "api/machine/nameservers.h"
#include "base/slice.h"

/* A search domain in canonical form: `.`, or labels of lower-case letters, digits and inner `-` and
 * `_`, with one leading `_` allowed (PD-32). NULL, or what is wrong with it. */
const char *machine_domain_parse(struct slice text, char ret[MACHINE_DOMAIN_MAX + 1]);
