/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Label and field selectors: `app=web,tier in (a,b),!old` and
 * `metadata.name=x,status.phase!=Running`. Parsed once, matched often; errors are worded so that a
 * user sees which part is wrong. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"

enum {
	API_SELECTOR_BYTES_MAX = 16 << 10,
	API_SELECTOR_TERMS_MAX = 256,
};

enum api_selector_op {
	API_SEL_IN,	/* also =, == */
	API_SEL_NOT_IN, /* also !=: true when the key is missing */
	API_SEL_EXISTS,
	API_SEL_MISSING,
	API_SEL_GREATER, /* whole numbers */
	API_SEL_LESS,
};

struct api_selector_term {
	const char *key;
	enum api_selector_op op;
	const char **value;
	size_t n_values;
	const char *absent; /* of a field selector: the value of a missing field; NULL: "" */
};

struct api_selector {
	struct api_selector_term *term;
	size_t n;
};

/* The empty text selects everything. Memory from the (growing) arena. ERR_PARSE, ERR_LIMIT; `err`
 * gets a sentence. */
MUST_CHECK int api_label_selector_parse(struct slice text, struct arena *arena,
					struct api_selector *ret, struct err_text err);
/* =, == and != only; backslash escapes `,` `=` and itself. */
MUST_CHECK int api_field_selector_parse(struct slice text, struct arena *arena,
					struct api_selector *ret, struct err_text err);

bool api_label_selector_match(const struct api_selector *selector, const json_t *labels);
/* Fields by their paths in the object ("metadata.name"); one that is not there counts as "" unless
 * the term says what. */
bool api_field_selector_match(const struct api_selector *selector, const json_t *object);
