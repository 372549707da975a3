/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Is a character one of a set? As strchr() does it, but the NUL byte is in no set: strchr() finds
 * the one that ends the set, and then NUL bytes in texts from outside pass for what was asked for.
 */
#pragma once

#include <stdbool.h>
#include <string.h>

static inline bool charset_has(const char *set, char ch)
{
	return ch != '\0' && strchr(set, ch) != NULL;
}
