/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Field errors, worded as kube-apiserver words them. `value` is the refused value; NULL is shown as
 * null. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "api/fielderr.h"
#include "base/compiler.h"

void apiserver_add_invalid(struct api_errors *errs, const char *field, const json_t *value,
			   const char *detail);
void apiserver_add_required(struct api_errors *errs, const char *field, const char *detail);
void apiserver_add_forbidden(struct api_errors *errs, const char *field, const char *detail);
void apiserver_add_duplicate(struct api_errors *errs, const char *field, const json_t *value);
/* False, and an error, if `text` is none of the NULL-terminated `words`. */
bool apiserver_check_one_of(struct api_errors *errs, const char *field, const char *text,
			    const char *const *words);
/* An error if the two values differ; each may be NULL. */
void apiserver_check_immutable(struct api_errors *errs, const char *field, const json_t *now,
			       const json_t *was);

/* The path of a field: "spec.ports[0].name". */
struct apiserver_path {
	char s[256];
};
/* Formats a path; the result is path->s. */
const char *apiserver_format_path(struct apiserver_path *path, const char *fmt, ...)
	PRINTF_LIKE(2, 3);
