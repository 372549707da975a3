/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets of fields as JSON: FieldsV1. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "base/compiler.h"

struct fieldset;

/* ERR_PARSE, ERR_LIMIT. */
MUST_CHECK int fieldset_parse(const json_t *fields_v1, struct fieldset **ret);
/* A new object in the server's order. It is not to be changed: empty objects in it are one. */
json_t *fieldset_write(const struct fieldset *fieldset);
/* Whether this is what fieldset_write returns, order included. */
bool fieldset_is_written(const struct fieldset *fieldset, const json_t *fields_v1);
