/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Character classes and escapes of RE2 syntax, printed for PCRE2. All functions read at the front of
 * `rest` and cut off what they read; on an error `bad` is the offending text and the result
 * describes it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

struct regex_class_in {
	struct slice rest;
	bool fold;	  /* (?i) */
	struct slice bad; /* after an error */
};

/* \d \w \s \pN and their opposites: 1 printed, 0 none of them, -1 with *error. */
MUST_CHECK int regex_class_escape(struct regex_class_in *in, struct strbuf *out,
				  const char **error);
/* A character for PCRE2, outside and inside of brackets. */
void regex_class_print(struct strbuf *out, uint32_t cp);
/* Next character of valid UTF-8. */
MUST_CHECK const char *regex_class_next(struct regex_class_in *in, uint32_t *ret);

/* `[...]`: prints it; NULL or the error. */
MUST_CHECK const char *regex_class_bracket(struct regex_class_in *in, struct strbuf *out);
/* A backslash and what stands for one character. */
MUST_CHECK const char *regex_class_char(struct regex_class_in *in, uint32_t *ret);
