/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collects problems of a source. */
#include "controller/dnssource/problems.h"

#include <stdarg.h>

#include "base/strbuf.h"

PRINTF_LIKE(3, 0)
static void add_problem(struct dnssource_problems *problems, const char *reason, const char *fmt,
			va_list args)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	if (problems->n == DNSSOURCE_PROBLEMS_MAX)
		return;
	strbuf_vaddf(&text, fmt, args);
	problems->v[problems->n++] =
		(struct dnssource_problem){ reason, arena_strdup(problems->arena, text.s) };
}

void dnssource_add_mistake(struct dnssource_problems *problems, const char *reason, const char *fmt,
			   ...)
{
	va_list args;
	va_start(args, fmt);
	add_problem(problems, reason, fmt, args);
	va_end(args);
	problems->keeps_records = true;
}

void dnssource_add_refusal(struct dnssource_problems *problems, const char *reason, const char *fmt,
			   ...)
{
	va_list args;
	va_start(args, fmt);
	add_problem(problems, reason, fmt, args);
	va_end(args);
}
