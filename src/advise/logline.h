/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A line of the log plugin: who asked for what, and how it was answered. Read are the formats
 * {common} and {combined}, with any words behind them; of these `answer={/log/type}` and
 * `namespace={/kubernetes/client-namespace}` have a meaning. Text before the client's address (a
 * level, a time) is skipped; of lines in JSON the member `msg` is read. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum {
	ADVISE_LINE_MAX = 16384,     /* longer lines are no lines of the log plugin */
	ADVISE_NAME_TEXT_MAX = 1004, /* characters of a name, as \DDD if need be */
};

/* Bits, so that a set of them says what was seen. NOERROR: the line does not say whether there were
 * records of the type. OTHER: any other code, or no reply. */
enum advise_outcome {
	ADVISE_DATA = 1,
	ADVISE_NODATA = 2,
	ADVISE_NOERROR = 4,
	ADVISE_NXDOMAIN = 8,
	ADVISE_SERVFAIL = 16,
	ADVISE_OTHER = 32,
};

enum advise_type { ADVISE_TYPE_A, ADVISE_TYPE_AAAA, ADVISE_TYPE_OTHER };
enum { ADVISE_TYPES = ADVISE_TYPE_OTHER + 1 };

/* Slices point into the line, or into `scratch`. */
struct advise_line {
	struct slice client; /* the address without its port */
	struct slice name;   /* without the final dot; "" is the root */
	struct slice ns;     /* the client's namespace; empty: not logged */
	enum advise_type type;
	enum advise_outcome outcome;
	bool in_class_in;
};

/* Whether the text may be the name of a namespace (RFC 1123: a label in lower case). */
bool advise_line_is_namespace(struct slice text);

/* ERR_PARSE when this is no line of the log plugin. `scratch` is for the text of JSON lines; it must
 * live as long as the result. */
MUST_CHECK int advise_line_parse(struct slice line, struct strbuf *scratch,
				 struct advise_line *ret);

/* For lines that advise_line_parse refused: true if it begins as a line of the log plugin does, up to
 * `ADDRESS:PORT - `. Its rest is missing or damaged, so that this client asked for a name that is not
 * known. *ret_client points into the line or into `scratch`. */
MUST_CHECK bool advise_line_is_cut(struct slice line, struct strbuf *scratch,
				   struct slice *ret_client);
