/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading constants as Go writes them: strings, characters, numbers. */
#pragma once

#include "tmpl/tmpl_priv.h"

/* ERR_PARSE; ERR_RANGE for more than one character. */
MUST_CHECK int tmpl_unquote(struct slice quoted, struct arena *arena, struct slice *ret);
MUST_CHECK int tmpl_char_const(struct slice quoted, struct number *ret);
MUST_CHECK int tmpl_number(struct slice text, struct number *ret, const char **ret_why);
/* strconv.ParseUint: ERR_PARSE, or ERR_RANGE when it does not fit `bits`. */
MUST_CHECK int tmpl_parse_uint(struct slice text, unsigned base, unsigned bits, uint64_t *ret);
