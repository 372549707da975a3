/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is wrong with an object's fields, worded as kube-apiserver words it:
 *
 *	DNS.operator.openshift.io "x" is invalid: spec.name: Required value
 *	DNS.operator.openshift.io "x" is invalid: [a: Invalid value: 1: ..., b: Too many: 3: ...]
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

/* What is more is left out, so that a hostile object costs little. */
enum { API_ERRORS_MAX = 1000 };

enum api_fielderr_type {
	API_FIELD_INVALID,
	API_FIELD_TYPE, /* reads "Invalid value", but prevents the evaluation of rules */
	API_FIELD_REQUIRED,
	API_FIELD_UNSUPPORTED,
	API_FIELD_TOO_LONG,
	API_FIELD_TOO_MANY,
	API_FIELD_DUPLICATE,
	API_FIELD_FORBIDDEN,
};

struct api_fielderr {
	enum api_fielderr_type type;
	char *field; /* "spec.templates[1].name"; "<nil>" for what has no single place */
	char *body;  /* "Invalid value: \"x\": ..." */
};

struct api_errors {
	struct api_fielderr *v;
	size_t n, cap;
};

void api_errors_done(struct api_errors *errors);
/* `field` "" stands for none. `value` (how the bad value is written; may be NULL) and `detail` (may
 * be "") are put behind the type's words. */
void api_errors_add(struct api_errors *errors, enum api_fielderr_type type, const char *field,
		    const char *value, const char *detail);
/* Moves all of `from` to the end of `to`. */
void api_errors_move(struct api_errors *to, struct api_errors *from);
/* Drops those behind the first n. */
void api_errors_cut(struct api_errors *errors, size_t count);

/* The server's message; `kind` as in "DNS.operator.openshift.io". What reads the same stands once.
 */
void api_errors_text(const struct api_errors *errors, const char *kind, const char *name,
		     struct strbuf *out);
/* details.causes of the server's Status: a new array of {reason, message, field}. */
json_t *api_errors_causes(const struct api_errors *errors);

/* A value as such messages show it: texts quoted as Go does, numbers as Go prints them, the rest as
 * JSON with its keys sorted. */
void api_fielderr_value(struct strbuf *out, const json_t *value);
/* A number as Go's %v prints it. */
void api_fielderr_float(struct strbuf *out, double number);
/* Any value as Go's %v prints it: `map[a:1 b:[x <nil>]]`. */
void api_fielderr_go(struct strbuf *out, const json_t *value);
