/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of served resources: one `struct apiserver_resource` per resource and version, built at the
 * start from YAML descriptions. The product's kinds are described by their CRDs (deploy/crds), built-in
 * kinds in the same form by src/apiserver/builtin: names, schema with list and merge keys, printer
 * columns. Rules that a schema cannot express are code: see strategy.h.
 *
 * Nothing here knows HTTP or the store. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "api/fielderr.h"
#include "api/kind.h"
#include "api/schema/schema.h"
#include "apiserver/kind/strategy.h"
#include "base/compiler.h"
#include "base/strbuf.h"

enum apiserver_verb {
	APISERVER_GET = 1 << 0,
	APISERVER_LIST = 1 << 1,
	APISERVER_WATCH = 1 << 2,
	APISERVER_CREATE = 1 << 3,
	APISERVER_UPDATE = 1 << 4,
	APISERVER_PATCH = 1 << 5,
	APISERVER_DELETE = 1 << 6,
	APISERVER_DELETECOLLECTION = 1 << 7,
};
enum { APISERVER_ALL_VERBS = APISERVER_DELETECOLLECTION * 2 - 1 };

/* A resource's columns are complete: they include Name (first, apart from Events), and Age if a CRD has
 * no columns of its own. */
struct apiserver_column {
	const char *name;
	const char *type;   /* string, integer, boolean, number, date */
	const char *format; /* "" or "name" */
	const char *description;
	int priority;	  /* above 0: only with -o wide */
	const char *path; /* JSONPath of a CRD; NULL: the strategy's `cells` returns the value */
};

struct apiserver_resource {
	const struct api_kind *kind; /* names and scope */
	const char *version;	     /* served by this row */
	const char *list_kind;
	const char *categories; /* separated by spaces */
	const char *warning;	/* sent to clients that use this version; "": none */
	unsigned verbs;
	bool built_in; /* kube-apiserver decodes it into Go types: unknown fields and wrong types are
			  400, strategic merge patches and PUT without resourceVersion work */
	bool status;   /* has the subresource */
	bool never_kept; /* clients may list it, which returns nothing; writes are refused */
	const struct apiserver_resource *stored; /* the row of the stored version: often itself */
	const struct api_schema *schema;
	const json_t
		*openapi; /* the schema's source with metadata filled in, for /openapi, server-side
				  apply and strategic merge patches; see "x-go" below */
	const json_t *description; /* the whole document, a CustomResourceDefinition */
	const struct apiserver_column *columns;
	size_t n_columns;
	const char *const *fields; /* field selectors beyond metadata.name and metadata.namespace
				      ("spec.nodeName"); NULL-terminated */
	const struct apiserver_strategy *strategy; /* never NULL */
};

/* Schemas of built-in kinds describe kube-apiserver's Go type of each field:
 *
 *	x-go: {field: 3, keep: set, type: v1.ServiceType}
 *
 *	field	number of the field in protobuf
 *	keep	set: a pointer, encoded when it is set, even to an empty value; always: encoded even
 *		when it is unset; otherwise it is encoded when it is not empty
 *	type	name of the Go type, if the schema's own type does not imply it */

/* The table. Built on the first call, by any thread; never freed. Exits with a message if a description
 * is invalid; a test makes sure that none is. */
const struct apiserver_resource *const *apiserver_resources(size_t *ret_n);

/* The schemas of ObjectMeta and of DeleteOptions. */
const json_t *apiserver_objectmeta_schema(void);
const json_t *apiserver_deleteoptions_schema(void);

/* The resource of a request path; NULL: not served. */
const struct apiserver_resource *apiserver_resource_find(const char *group, const char *version,
							 const char *plural);
/* The resource of an object, by its apiVersion and kind; NULL: not served. */
const struct apiserver_resource *apiserver_resource_of(const json_t *object);
