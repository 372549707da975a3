/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a function puts the sentence that says why it failed: the caller's buffer and its size, as one argument.
 *
 *	char why[256];
 *	if (zone_load(zone, path, ERR_TEXT(why)) < 0)
 *		log_error(LOG_DNS, "%s", why);
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "base/compiler.h"

struct err_text {
	char *text; /* NULL where nobody wants to know */
	size_t size;
};

/* Of an array of characters. */
#define ERR_TEXT(array) ((struct err_text){ (array), sizeof(array) })

/* Longer sentences are cut. */
PRINTF_LIKE(2, 3) void err_text_set(struct err_text err, const char *fmt, ...);
PRINTF_LIKE(2, 0) void err_text_vset(struct err_text err, const char *fmt, va_list args);
