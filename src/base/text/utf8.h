/* SPDX-License-Identifier: GPL-3.0-or-later */
/* UTF-8, one character at a time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"

/* Decodes the first character of `text`: the bytes it takes, or 0 when `text` is empty or does not
 * start with valid, shortest-form UTF-8 (surrogates are invalid). */
size_t utf8_decode(struct slice text, uint32_t *ret_cp);

/* Encodes into at most 4 bytes and returns their number; an invalid code point becomes U+FFFD. */
size_t utf8_encode(uint32_t cp, char out[4]);

/* The number of characters; a byte that is not part of valid UTF-8 counts as one. */
size_t utf8_length(struct slice text);

/* Characters that nobody sees, of Unicode's category Cf (format): zero-width spaces, joiners, marks of direction. */
bool utf8_is_invisible(uint32_t code);
