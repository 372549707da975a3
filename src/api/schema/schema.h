/* Structural schemas of CRDs: what the API server does with an object by them, done here with the
 * same results and the same words (compared with a real server: tests/kube/test_schema.py).
 *
 *	api_schema_prepare(s, o)	what a write does first: unknown fields go, nulls go,
 *defaults come api_schema_validate(s, o, ...)	everything that is wrong with it
 *
 * A compiled schema is not changed by use and may be shared by threads. A keyword, format or rule
 * that is not known here is an error when the schema is compiled, never ignored. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "api/fielderr.h"
#include "base/compiler.h"

enum {
	API_SCHEMA_DEPTH_MAX = 64,
	API_SCHEMA_NODES_MAX = 20000,
};

struct api_schema;

/* From an `openAPIV3Schema`. ERR_UNSUPPORTED, ERR_PARSE, ERR_LIMIT; `err` gets a sentence with the
 * place. */
MUST_CHECK int api_schema_new(const json_t *openapi, struct api_schema **ret, char *err,
			      size_t err_n);
/* From a CustomResourceDefinition; ERR_NOTFOUND when it does not have the version. */
MUST_CHECK int api_schema_of_crd(const json_t *crd, const char *version, struct api_schema **ret,
				 char *err, size_t err_n);
void api_schema_free(struct api_schema *schema);
static inline void api_schema_freep(struct api_schema **schema)
{
	api_schema_free(*schema);
}

/* The object loses fields that the schema does not know and nulls where there may be none, then
 * gets the defaults. Its apiVersion, kind and metadata are left as they are. */
void api_schema_prepare(const struct api_schema *schema, json_t *object);
/* The same for what server-side apply made: nulls stay where there is no default, and are refused
 * later. The server drops them when it reads a body, and this one was not read. */
void api_schema_prepare_applied(const struct api_schema *schema, json_t *object);

/* Appends what is wrong. `old` is the object before an update, or NULL: what an update did not
 * touch is not held against it, and rules about changes (oldSelf) are looked at only then.
 * Metadata is not looked at beyond what the schema says of it. */
void api_schema_validate(const struct api_schema *schema, const json_t *object, const json_t *old,
			 struct api_errors *errs);
/* The same for a write to the status subresource: `object` is `old` with another status. */
void api_schema_validate_status(const struct api_schema *schema, const json_t *object,
				const json_t *old, struct api_errors *errs);
