/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flags by table, in Go's syntax (`-name value`, `--name=value`), since that is what scripts
 * written for CoreDNS use. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/err_text.h"

struct flag {
	const char *name;
	bool *set;	    /* a switch, or: */
	const char **value; /* takes a value */
	const char *arg;    /* how the value is written in --help */
	const char *help;
	struct flag_values *values; /* takes a value, and may be given more than once */
};

/* Rows of a table of flags. */
#define FLAG_SWITCH(name_, at, help_)                         \
	{                                                     \
		.name = (name_), .set = (at), .help = (help_) \
	}
#define FLAG_VALUE(name_, at, arg_, help_)                                     \
	{                                                                      \
		.name = (name_), .value = (at), .arg = (arg_), .help = (help_) \
	}
#define FLAG_VALUES(name_, at, arg_, help_)                                     \
	{                                                                       \
		.name = (name_), .values = (at), .arg = (arg_), .help = (help_) \
	}

struct flag_values {
	const char **v;
	size_t n, cap;
};

/* Reads flags from argv[1] on. The index of the first argument that is no flag, or -1 with a text
 * in `why`, or -2 when help was asked for. */
MUST_CHECK int flags_parse(const struct flag *flag, size_t count, int argc, char **argv,
			   struct err_text why);
/* The same, but flags and arguments come in any order, as kubectl takes them: the arguments are put
 * into `ret`. 0, -1 or -2. */
MUST_CHECK int flags_parse_mixed(const struct flag *flag, size_t count, int argc, char **argv,
				 struct flag_values *ret, struct err_text why);
void flags_help(const struct flag *flag, size_t count, FILE *out);
