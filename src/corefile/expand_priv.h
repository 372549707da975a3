/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replacing references to environment variables in words. */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/srcpos.h"
#include "corefile/corefile.h"

/* The text of `word` with `{%NAME%}` and `{$NAME}` replaced; `w->s` itself when it holds none. An
 * unset variable is empty, `{$}` and what has no end stay. Values are expanded too, so that the
 * result has nothing left to expand; ERR_LIMIT if that does not end or the word grows past
 * COREFILE_MAX_WORD_BYTES. New text is from `arena` and valid UTF-8. */
MUST_CHECK int corefile_expand(struct arena *arena, const struct corefile_source *src,
			       const struct word *word, const char **ret, struct srcerr *reterr);
