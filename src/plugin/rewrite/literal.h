/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a name must have for a pattern to match it: a text that ends where a label ends, read from
 * the pattern. Found in patterns such as ^(.*)\.apps\.example\.com\.$, whose groups need not be
 * looked into; in others nothing is found, and they are always tried. */
#pragma once

#include "plugin/rewrite/rewrite_priv.h"

/* A text up to the end of a label, dot included, that every name matching the pattern has; may be
 * empty. */
struct slice rewrite_literal(const char *pattern, struct arena *arena);
