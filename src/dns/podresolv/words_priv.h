/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words between white space, as Go's unicode.IsSpace defines it: kubelet reads host files so. */
#pragma once

#include <stdbool.h>

#include "base/slice.h"

/* Cuts the next word off `*rest`; empty when there is none. */
struct slice podresolv_next_word(struct slice *rest);

/* True if the text is one word of a line: not empty, no white space, no control character. */
bool podresolv_is_word(struct slice text);
