/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading `name` rules and what follows `answer`. */
#pragma once

#include "plugin/rewrite/rewrite_priv.h"

MUST_CHECK int rewrite_parse_name(struct rewrite_words *words);
