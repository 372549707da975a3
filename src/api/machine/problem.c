/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collects problems of objects in an arena. */
#include "api/machine/problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/tree.h"
#include "base/mem.h"

enum { FIRST_PROBLEMS = 8, TEXT_MAX = 512, SHOWN_MAX = 100 };

const char *machine_shorten(const char *text, struct arena *arena)
{
	size_t n = SHOWN_MAX;
	if (strlen(text) <= SHOWN_MAX)
		return text;
	while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) /* inside of a UTF-8 character */
		n--;
	return arena_printf(arena, "%.*s...", (int)n, text);
}

const char *machine_show(const json_t *value, struct arena *arena)
{
	if (value == NULL || json_is_string(value))
		return machine_shorten(api_text(value), arena);
	CLEANUP(freep) char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	return arena_strdup(arena, machine_shorten(text != NULL ? text : "", arena));
}

static void add_problem(struct machine_problems *problems, struct machine_problem problem)
{
	if (problems->n == MACHINE_PROBLEMS_MAX)
		return;
	if (problems->n == problems->cap) {
		size_t cap = problems->cap == 0 ? FIRST_PROBLEMS : 2 * problems->cap;
		struct machine_problem *grown = arena_alloc(problems->arena, cap * sizeof(*grown));
		if (problems->n != 0)
			memcpy(grown, problems->v, problems->n * sizeof(*grown));
		problems->v = grown;
		problems->cap = cap;
	}
	problems->v[problems->n++] = problem;
}

/* A text may quote an object, and must not disturb the terminal that it is printed on. */
static void mask_controls(char *text)
{
	for (; *text != '\0'; text++)
		*text = (unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text;
}

PRINTF_LIKE(5, 0)
static void add_text(struct machine_problems *problems, const json_t *object, const char *field,
		     bool warning, const char *fmt, va_list args)
{
	char text[TEXT_MAX];
	vsnprintf(text, sizeof(text), fmt, args);
	mask_controls(text);
	add_problem(problems,
		    (struct machine_problem){ .object = object,
					      .field = arena_strdup(problems->arena, field),
					      .text = arena_strdup(problems->arena, text),
					      .warning = warning });
}

void machine_report(struct machine_problems *problems, const json_t *object, const char *field,
		    const char *fmt, ...)
{
	va_list args;
	problems->n_errors++;
	va_start(args, fmt);
	add_text(problems, object, field, false, fmt, args);
	va_end(args);
}

void machine_warn(struct machine_problems *problems, const json_t *object, const char *field,
		  const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	add_text(problems, object, field, true, fmt, args);
	va_end(args);
}
