/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strict decoding (fieldValidation): unknown and duplicate fields of a body, and values of wrong
 * types, reported as kube-apiserver does. */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "apiserver/kind/resource.h"
#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"

enum { APISERVER_STRICT_LINES_MAX = 100 };

/* Compares a body with its schema. `text` is its JSON, in which apiserver_json_error finds no error;
 * empty: it has no duplicate keys. Appends `unknown field "spec.x"` and `duplicate field "spec.x"` to
 * `warnings`, at most APISERVER_STRICT_LINES_MAX. ERR_TYPE with the server's message in `err`
 * for the first value of a wrong type: of the whole object for built-in kinds, else of its
 * metadata. */
MUST_CHECK int apiserver_strict_decode(const struct apiserver_resource *resource, struct slice text,
				       const json_t *object, json_t *warnings, struct err_text err);
/* The same of an object that a patch made: it has no text, and kube-apiserver reports its fields in the
 * order of their names. `stored`: a value in it that is as it was stored, and need not be checked, or
 * NULL. */
MUST_CHECK int apiserver_strict_decode_patched(const struct apiserver_resource *resource,
					       const json_t *object, const json_t *stored,
					       json_t *warnings, struct err_text err);
