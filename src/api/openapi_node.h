/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the steps of a write read again and again from each node of a kind's OpenAPI schema. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "api/key_table.h"

/* The types that have rules; a schema of another one, or of none, is API_OPENAPI_OTHER. */
enum api_openapi_type {
	API_OPENAPI_OTHER,
	API_OPENAPI_OBJECT,
	API_OPENAPI_ARRAY,
	API_OPENAPI_INTEGER,
	API_OPENAPI_STRING,
	API_OPENAPI_BOOLEAN,
};

/* Borrowed from the schema. Texts are "" and trees NULL where it has none. */
struct api_openapi_node {
	const json_t *properties, *items, *additional_properties;
	const char *type, *format;
	const char *go_type; /* `x-go.type`: of kube-apiserver, such as v1.Time */
	const char
		*go_keep; /* `x-go.keep`: when an empty field is encoded: "", "set" or "always" */
	const char
		*go_embedded; /* `x-go.embedded`: the Go type in between that JSON does not show */
	bool preserve;	      /* unknown fields */
	enum api_openapi_type type_id; /* of `type` */
	bool go_decodes;	       /* the Go type has a decoder of its own, such as v1.Time */
	struct api_key_table members;  /* name -> the schema in `properties` */
};

/* The schema, which may be NULL, and all in it must never be freed nor changed: its node is kept, for all
 * threads. */
const struct api_openapi_node *api_openapi_node(const json_t *schema);
/* The schema of a property, or NULL. */
static inline const json_t *api_openapi_property(const struct api_openapi_node *node,
						 const char *key, size_t key_n)
{
	return api_key_table_get(&node->members, key, key_n);
}
