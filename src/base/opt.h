/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options by table: the same rows parse, range-check, give help texts and are compared with the
 * documentation. A row describes one option line `NAME ARG...` of a plugin's block; positional
 * arguments of the directive itself are described by rows whose name starts with '<'.
 *
 *	static const struct opt health_opts[] = {
 *		{ "<address>", OPT_STRING, offsetof(struct health_conf, addr), .def = ":8080",
 *		  .help = "address of the HTTP server" },
 *		{ "lameduck", OPT_DURATION, offsetof(struct health_conf, lameduck_ns), 0,
 *		  INT64_MAX, .def = "0s", .help = "time to keep answering after SIGTERM" },
 *	};
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/srcpos.h"
#include "base/strbuf.h"

enum opt_type {
	OPT_FLAG,     /* no argument; bool field set to true */
	OPT_BOOL,     /* on|off, true|false, yes|no; bool field */
	OPT_UINT,     /* uint64_t field, min..max */
	OPT_INT,      /* int64_t field, min..max */
	OPT_DURATION, /* int64_t field in ns, min..max (ns) */
	OPT_STRING,   /* const char * field */
	OPT_ENUM,     /* int field: index into the row's `words` */
	OPT_LIST,     /* struct opt_list field; one or more arguments, lines accumulate */
	OPT_FN,	      /* row's own function parses the line */
};

struct opt_list {
	const struct word **v;
	size_t n;
};

/* One line to be parsed: the option's name and its arguments. */
struct opt_line {
	struct word name;
	const struct word *arg;
	size_t n_arg;
};

struct opt_ctx {
	struct arena *arena; /* for what is kept: strings, lists */
	void *conf;	     /* the struct the offsets point into */
	void *user;	     /* for OPT_FN rows */
	void *field;	     /* set before an OPT_FN row's function runs: conf + offset */
	struct srcerr *err;
};

struct opt {
	const char *name;
	enum opt_type type;
	size_t offset;
	int64_t min, max; /* OPT_UINT, OPT_INT, OPT_DURATION; both 0: any (non-negative) value.
			     OPT_LIST, OPT_FN: number of arguments allowed; both 0: any */
	const char *def;  /* default as text, parsed by the same row; NULL: left zero */
	const char *const *words;				     /* OPT_ENUM, NULL-terminated */
	int (*fn)(struct opt_ctx *ctx, const struct opt_line *line); /* OPT_FN */
	bool repeatable;  /* may stand on several lines; else a second one is an error */
	const char *args; /* for help and docs: how arguments are written, e.g. "DURATION" */
	const char *help;
};

/* Puts every row's default into conf. */
void opt_defaults(const struct opt *rows, size_t count, struct opt_ctx *ctx);
/* Parses one option line; unknown names are an error that lists the known ones. `seen` is a bit set
 * of rows already met (n <= 64), kept by the caller over the lines of one directive. */
MUST_CHECK int opt_parse_line(const struct opt *rows, size_t count, const struct opt_line *line,
			      uint64_t *seen, struct opt_ctx *ctx);
/* Parses the positional arguments by the '<' rows, in order. Too many is an error; a missing one
 * keeps its default. A last '<...>' row of type OPT_LIST takes all that is left. */
MUST_CHECK int opt_parse_args(const struct opt *rows, size_t count, const struct opt_line *line,
			      struct opt_ctx *ctx);
/* A table of options for --help, one per line, aligned. */
void opt_help(const struct opt *rows, size_t count, struct strbuf *out);
