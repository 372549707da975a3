/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the steps of a write read again and again from each node of a kind's OpenAPI schema. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

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
};

/* The schema, which may be NULL, and all in it must never be freed nor changed: its node is kept, for all
 * threads. */
const struct api_openapi_node *api_openapi_node(const json_t *schema);
