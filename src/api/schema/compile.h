/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compiling a schema. */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/err_text.h"

enum {
	API_SCHEMA_DEPTH_MAX = 64,
	API_SCHEMA_NODES_MAX = 20000,
};

struct api_schema;

/* From an `openAPIV3Schema`. ERR_UNSUPPORTED, ERR_PARSE, ERR_LIMIT; `err` gets a sentence with the
 * place. */
MUST_CHECK int api_schema_new(const json_t *openapi, struct api_schema **ret, struct err_text err);
void api_schema_free(struct api_schema *schema);
static inline void api_schema_freep(struct api_schema **schema)
{
	api_schema_free(*schema);
}
