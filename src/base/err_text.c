/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sentence that says why a function failed, written into its caller's buffer. */
#include "base/err_text.h"

#include <stdio.h>

void err_text_vset(struct err_text err, const char *fmt, va_list args)
{
	if (err.size > 0)
		vsnprintf(err.text, err.size, fmt, args);
}

void err_text_set(struct err_text err, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	err_text_vset(err, fmt, args);
	va_end(args);
}
