/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is wrong with the objects of a machine. Problems are collected, so that a user sees all of
 * them at once; each has the object and the field, and the caller knows the place in a file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/compiler.h"

/* What is more is counted, not kept. */
enum { MACHINE_PROBLEMS_MAX = 200 };

struct machine_problem {
	const json_t *object; /* borrowed; NULL: none is to blame */
	const char *field;    /* "spec.prefix"; "" for the object */
	const char *text;
	bool warning; /* the configuration is still correct */
};

/* Zero it and set the arena, which must grow and outlive it. */
struct machine_problems {
	struct arena *arena;
	struct machine_problem *v;
	size_t n, cap;
	size_t n_errors; /* those that are no warnings, also those beyond the limit */
};

/* A text for a message: of a long one the beginning, and dots. */
const char *machine_shorten(const char *text, struct arena *arena);
/* Likewise a value: a string as it is, others as JSON; "" for a missing one. */
const char *machine_show(const json_t *value, struct arena *arena);
/* `field` is copied. */
void machine_report(struct machine_problems *problems, const json_t *object, const char *field,
		    const char *fmt, ...) PRINTF_LIKE(4, 5);
void machine_warn(struct machine_problems *problems, const json_t *object, const char *field,
		  const char *fmt, ...) PRINTF_LIKE(4, 5);
