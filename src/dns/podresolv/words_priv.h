/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words between white space, as Go's unicode.IsSpace defines it: kubelet reads host files so. */
#pragma once

#include <stdbool.h>

#include "base/slice.h"

/* Cuts the next word off `*rest`; empty when there is none. */
struct slice podresolv_next_word(struct slice *rest);

/* True if the text is one word of a line: not empty, no white space, no control character. */
bool podresolv_is_word(struct slice text);
/* The same without characters that nobody sees, such as a zero-width space (U+200B): an option with one looks like
 * an option that it is not. */
bool podresolv_is_visible_word(struct slice text);
