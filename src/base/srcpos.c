/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors with their place in a file: setting one, and printing it as `file:line:col: text`. */
#include "base/srcpos.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"

int srcerr_set(struct srcerr *srcerr, struct srcpos pos, const char *fmt, ...)
{
	if (srcerr == NULL)
		return ERR_PARSE;
	va_list ap;
	srcerr->pos = pos;
	snprintf(srcerr->file, sizeof(srcerr->file), "%s", pos.file != NULL ? pos.file : "");
	va_start(ap, fmt);
	vsnprintf(srcerr->text, sizeof(srcerr->text), fmt, ap);
	va_end(ap);
	return ERR_PARSE;
}

const char *srcerr_str(const struct srcerr *srcerr, char *out, size_t len)
{
	if (srcerr->file[0] == '\0')
		snprintf(out, len, "%s", srcerr->text);
	else
		snprintf(out, len, "%s:%u:%u: %s", srcerr->file, srcerr->pos.line, srcerr->pos.col,
			 srcerr->text);
	return out;
}
