/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading `edns0` rules, and the values they put into options. */
#pragma once

#include "plugin/rewrite/rewrite_priv.h"

MUST_CHECK int rewrite_parse_edns(struct rewrite_words *words);
