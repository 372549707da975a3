/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing a Corefile in its canonical form: tests compare what was read before and after. */
#pragma once

#include "corefile/corefile.h"

/* Appends the canonical text: imports, snippets and variables are expanded, comments are gone.
 * Parsing it returns the same keys, words and bodies (at other places). ERR_UNSUPPORTED if a word
 * cannot be written in this language: one that needs quotes and has an odd number of backslashes
 * before a `"` or at its end, which only the environment or a program can make. */
MUST_CHECK int corefile_print(const struct corefile *cf, struct strbuf *out);
