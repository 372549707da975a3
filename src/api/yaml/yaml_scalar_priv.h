/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The meaning of unquoted scalars, for the reader and the writer of YAML. */
#pragma once

#include <jansson.h>

#include "base/slice.h"

enum yaml_kind {
	YAML_STRING,
	YAML_NULL,
	YAML_TRUE,
	YAML_FALSE,
	YAML_INT,
	YAML_FLOAT,
	YAML_NOT_JSON, /* a number that JSON does not have: infinity, NaN */
};

struct yaml_number {
	json_int_t integer;
	double real;
};

/* The kind of an unquoted scalar; numbers are filled in. */
enum yaml_kind yaml_scalar_resolve(struct slice word, struct yaml_number *ret);
