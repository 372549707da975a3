/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a word stands in a text, and an error that says so: `file:line:col: text`. */
#pragma once

#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"

struct srcpos {
	const char *file; /* borrowed; outlives what refers to it. NULL: no place known */
	uint32_t line;	  /* from 1 */
	uint32_t col;	  /* from 1, in characters */
};

/* A word of a configuration text: terminated, may hold any byte but NUL. */
struct word {
	const char *s;
	struct srcpos pos;
};

struct srcerr {
	struct srcpos pos; /* its file may be gone by the time the error is shown: */
	char file[256];	   /* a copy; "" when no place is known */
	char text[512];
};

/* Fills `srcerr` (may be NULL) and returns ERR_PARSE, so that parsers can `return srcerr_set(...)`.
 */
int srcerr_set(struct srcerr *srcerr, struct srcpos pos, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* "file:line:col: text", or the text alone when no place is known; into `out`, returned. */
const char *srcerr_str(const struct srcerr *srcerr, char *out, size_t len);
