/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two matchers behind regex.h, each alone: tests compare them. */
#pragma once

#include "base/compiler.h"
#include "base/regex/regex.h"
#include "base/slice.h"

/* PCRE2: 1, 0, or ERR_LIMIT when it gives up or the subject is not UTF-8. */
MUST_CHECK int regex_match_pcre(const struct regex *re, struct regex_scratch *scratch,
				struct slice subject);
MUST_CHECK bool regex_match_linear(const struct regex *re, struct regex_scratch *scratch,
				   struct slice subject);
/* Patterns that PCRE2 understands otherwise than Go, and that are never given to it. */
bool regex_pcre_differs(const struct regex *re);
