/* Errors with a place. */
#include "base/srcpos.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"

int srcerr_set(struct srcerr *e, struct srcpos pos, const char *fmt, ...)
{
	if (e == NULL)
		return ERR_PARSE;
	va_list ap;
	e->pos = pos;
	snprintf(e->file, sizeof(e->file), "%s", pos.file != NULL ? pos.file : "");
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return ERR_PARSE;
}

const char *srcerr_str(const struct srcerr *e, char *out, size_t n)
{
	if (e->file[0] == '\0')
		snprintf(out, n, "%s", e->text);
	else
		snprintf(out, n, "%s:%u:%u: %s", e->file, e->pos.line, e->pos.col, e->text);
	return out;
}
