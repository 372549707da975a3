/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The format of a log line: a text with {placeholders}, cut at load into a list of segments that
 * are written one after the other for each query. */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/slice.h"

struct query;

enum { LOG_LINE_BYTES = 4096, LOG_JSON_BYTES = 3072 };

/* Where a line is written; what does not fit is cut. */
struct log_out {
	char *p, *end;
};

struct log_segment {
	void (*put)(struct log_out *out, struct query *q); /* NULL: text or label */
	struct slice text;
	bool label; /* the text is a metadata label */
};

struct log_layout {
	const struct log_segment *v;
	size_t n;
};

#define LOG_LAYOUT_COMMON                                                                    \
	"{remote}:{port} - {>id} \"{type} {class} {name} {proto} {size} {>do} {>bufsize}\" " \
	"{rcode} {>rflags} {rsize} {duration}"
#define LOG_LAYOUT_COMBINED LOG_LAYOUT_COMMON " \"{>opcode}\""

/* Cuts `text`, with {common} and {combined} replaced by what they stand for; memory from `arena`.
 * An unknown placeholder stays as it is. */
void log_layout_parse(struct log_layout *layout, struct arena *arena, const char *text);
/* The text of one query into `out`; returns what was written. */
struct slice log_layout_put(const struct log_layout *layout, struct query *q,
			    char out[LOG_LINE_BYTES]);
/* The members that a JSON line has beyond time, level and msg, starting with a comma. */
struct slice log_layout_json(struct query *q, char out[LOG_JSON_BYTES]);
