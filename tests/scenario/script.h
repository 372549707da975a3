/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scenario file in memory: a list of steps, each `--- VERB ARGUMENTS` and the lines below it. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"

struct script_step {
	unsigned line;
	char *verb;
	char *args; /* "" if none */
	char *body; /* lines, each with its \n; without blank ones at the end; "" if none */
};

struct script {
	const char *path;
	struct script_step *step;
	size_t n;
};

/* Reads a file; what is wrong is told on stderr. Everything before the first step is prose, and
 * lines that start with `##` are remarks. */
MUST_CHECK int script_read(const char *path, struct script *ret);
void script_done(struct script *s);
