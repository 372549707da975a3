/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The growing list of findings of a result. */
#include "dns/podresolv/findings_priv.h"

#include <stdarg.h>
#include <string.h>

/* A host file may have a million odd options, each with a lint; nobody reads more than these. */
enum { FIRST_FINDINGS = 8, FINDINGS_MAX = 64 };

/* The array has room for FIRST_FINDINGS, and twice as much each time it is full. */
static void make_room(struct podresolv_result *result, struct arena *arena)
{
	size_t n = result->n_findings, room = n == 0 ? FIRST_FINDINGS : 2 * n;
	if (n != 0 && (n < FIRST_FINDINGS || (n & (n - 1)) != 0))
		return;
	struct podresolv_finding *findings = arena_alloc(arena, room * sizeof(*findings));
	if (n > 0)
		memcpy(findings, result->findings, n * sizeof(*findings));
	result->findings = findings;
}

void podresolv_add_finding(struct podresolv_result *result, struct arena *arena,
			   struct podresolv_finding finding, const char *fmt, ...)
{
	CLEANUP(strbuf_done) struct strbuf message = STRBUF_INIT;
	va_list args;
	if (result->n_findings >= FINDINGS_MAX)
		return;
	va_start(args, fmt);
	strbuf_vaddf(&message, fmt, args);
	va_end(args);
	finding.message = arena_strndup(arena, message.s, message.n);
	if (finding.field == NULL)
		finding.field = "";
	make_room(result, arena);
	result->findings[result->n_findings++] = finding;
}
