/* Flags by table, in Go's syntax (`-name value`, `--name=value`), since that is what scripts
 * written for CoreDNS use. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/compiler.h"

struct flag {
	const char *name;
	bool *set;	    /* a switch, or: */
	const char **value; /* takes a value */
	const char *arg;    /* how the value is written in --help */
	const char *help;
};

/* Reads flags from argv[1] on. The index of the first argument that is no flag, or -1 with a text
 * in `why`, or -2 when help was asked for. */
MUST_CHECK int flags_parse(const struct flag *f, size_t n, int argc, char **argv, char *why,
			   size_t why_n);
void flags_help(const struct flag *f, size_t n, FILE *out);
