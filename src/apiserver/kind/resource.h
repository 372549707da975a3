/* What the embedded API serves: one `struct apiserver_resource` per resource and version, made at
 * start from descriptions in YAML. The product's kinds are described by their CRDs (deploy/crds),
 * the built-in ones in the same form by src/apiserver/builtin: names, schema with list and merge
 * keys, printer columns. What a schema cannot say is a strategy: code for that one kind.
 *
 * Nothing here knows HTTP or the store, but for the allocator handed to strategies. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "api/fielderr.h"
#include "api/kind.h"
#include "api/schema/schema.h"
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

/* Columns are complete: Name is among them (first, but for Events), and Age where a CRD has none of
 * its own. */
struct apiserver_column {
	const char *name;
	const char *type;   /* string, integer, boolean, number, date */
	const char *format; /* "" or "name" */
	const char *description;
	int priority;	  /* above 0: only with -o wide */
	const char *path; /* JSONPath of a CRD; NULL: the strategy's `cells` knows */
};

struct apiserver_resource;
struct apiserver_strategy;

struct apiserver_resource {
	const struct api_kind *kind; /* names and scope */
	const char *version;	     /* served by this row */
	const char *list_kind;
	const char *categories; /* separated by spaces */
	const char *warning;	/* who uses this version is told; "": nothing */
	unsigned verbs;
	bool built_in; /* decoded into Go types by a real server: unknown fields and wrong types are
			  400, strategic merge patches work, PUT without resourceVersion does */
	bool status;   /* has the subresource */
	bool never_kept; /* clients may list it, and find nothing; writing one is refused */
	const struct apiserver_resource *stored; /* the row whose version is kept: often itself */
	const struct api_schema *schema;
	const json_t *openapi; /* the schema as it was written, metadata's filled in, for /openapi,
				  SSA and strategic patches; see "x-go" below */
	const json_t *description; /* the whole document, a CustomResourceDefinition */
	const struct apiserver_column *columns;
	size_t n_columns;
	const char *const *fields; /* field selectors beyond metadata.name and metadata.namespace
				      ("spec.nodeName"); NULL-terminated */
	const struct apiserver_strategy *strategy; /* never NULL */
};

/* Something that somebody wants to do. What does not apply is "". */
struct apiserver_action {
	const char *verb; /* "get", "deletecollection" ...; of a path: the method in lower case */
	const char *group, *resource, *subresource, *ns, *name;
	const char *path; /* of a request that is for no resource */
};

/* What a write may need from outside. */
struct apiserver_env {
	void *ctx;
	/* Service addresses. 0, or ERR_CONFLICT: taken, ERR_RANGE: not of the range, ERR_SPACE:
	 * none left. `want` "" takes a free one. */
	int (*allocate)(void *ctx, int family, const char *want, char *ret, size_t ret_n);
	void (*release)(void *ctx, const char *address);
	/* Node ports; the same results. `want` 0 takes a free one. */
	int (*allocate_port)(void *ctx, unsigned want, unsigned *ret);
	void (*release_port)(void *ctx, unsigned port);
	const char *const *service_cidrs; /* NULL-terminated, the first decides the main family */
	bool dry_run;			  /* allocate, but give back at the end */
	bool applied;			  /* the object is what server-side apply made */
	/* For reviews: may the user do it (NULL: nothing), and which groups has it. */
	bool (*may)(void *ctx, const char *user, const struct apiserver_action *a);
	const char *const *groups; /* NULL-terminated; NULL: none */
};

/* What a kind does beyond its schema. All may be NULL. `old` is NULL for a new object. Both are in
 * the version of the request until to_stored has seen them. */
struct apiserver_strategy {
	const char *kind; /* "Service"; group as in api_kinds */
	const char *group;
	/* After the schema's defaults, before validation: defaults that depend on other fields,
	 * fields a user cannot set or change. */
	void (*prepare)(const struct apiserver_env *env, json_t *o, const json_t *old);
	void (*validate)(const struct apiserver_env *env, const json_t *o, const json_t *old,
			 struct api_errors *errs);
	/* The same for a write to the status subresource. The first sees the object as it was sent,
	 * whose spec will be lost. */
	void (*prepare_status)(json_t *o, const json_t *old);
	void (*validate_status)(const json_t *o, const json_t *old, struct api_errors *errs);
	/* What must be taken from outside once the object is valid; where it fails, `errs` has it
	 * and nothing stays taken. `undo` gives back what `o` has and `old` has not: after a write
	 * that failed, and with the two swapped after one that went well. `removed`: all. */
	int (*admit)(const struct apiserver_env *env, json_t *o, const json_t *old,
		     struct api_errors *errs);
	void (*undo)(const struct apiserver_env *env, const json_t *o, const json_t *old);
	void (*removed)(const struct apiserver_env *env, const json_t *o);
	/* Between this row's version and the stored one; the tree is changed in place. */
	void (*to_stored)(json_t *o, const char *version);
	void (*from_stored)(json_t *o, const char *version);
	/* Cells of columns without a path, in the order of `columns`: a new array with one value
	 * for every column (null where a path says it). */
	json_t *(*cells)(const json_t *o, uint64_t now_s);
	/* Does the generation count this change (or begin, for a new object)? Where NULL: changes
	 * of anything but metadata and status. */
	bool (*counts)(const json_t *o, const json_t *old);
	/* Kinds that are answers, not objects: the review is filled in. */
	void (*review)(const struct apiserver_env *env, json_t *o, const char *user);
};

/* Schemas of built-in kinds say of each field how the server's Go types have it:
 *
 *	x-go: {field: 3, keep: set, type: v1.ServiceType}
 *
 *	field	number of the field in protobuf
 *	keep	set: a pointer, written when it was set, even to nothing; always: written even when
 *		it was not set; otherwise it is written when it is not empty
 *	type	name of the type, where it is not that of the schema's own type */

/* The table, compiled in; made once, shared by all, never freed before the end. Exits with a
 * message when a description is wrong, which a test excludes. */
const struct apiserver_resource *const *apiserver_resources(size_t *ret_n);

/* What a write does to an object first: what the schema does not know goes, defaults come, then
 * what the strategy wants. Metadata is given its shape only (nulls and empty maps go). */
void apiserver_prepare(const struct apiserver_resource *resource, const struct apiserver_env *env,
		       json_t *object, const json_t *old);
/* Everything that is wrong with it: metadata, schema, strategy. `old` is NULL for a new object. */
void apiserver_validate(const struct apiserver_resource *resource, const struct apiserver_env *env,
			const json_t *object, const json_t *old, struct api_errors *errs);
/* The same for a write to the status subresource: `object`, whatever it says, becomes `old` with
 * another status; of built-in kinds with other labels and the like, too. */
void apiserver_prepare_status(const struct apiserver_resource *resource, json_t *object,
			      const json_t *old);
void apiserver_validate_status(const struct apiserver_resource *resource, const json_t *object,
			       const json_t *old, struct api_errors *errs);
/* The CustomResourceDefinition by which a server shows one of the product's kinds, as a new object
 * with its status, for the store to hold; NULL for a row of a built-in kind. `now`: as objects
 * write times. */
json_t *apiserver_crd_object(const struct apiserver_resource *resource, const char *now);
/* Schema of ObjectMeta, and of DeleteOptions. */
const json_t *apiserver_objectmeta_schema(void);
const json_t *apiserver_deleteoptions_schema(void);

/* By what a path says; NULL when it is not served. */
const struct apiserver_resource *apiserver_resource_find(const char *group, const char *version,
							 const char *plural);
/* By an object's apiVersion and kind. */
const struct apiserver_resource *apiserver_resource_of(const json_t *object);

/* Decodes kubectl's protobuf bodies ("k8s\0" and an envelope) of the few kinds it sends so;
 * ERR_PARSE, ERR_UNSUPPORTED with a sentence. */
MUST_CHECK int apiserver_protobuf_decode(struct slice body, json_t **ret, char *err, size_t err_n);

/* Unknown and doubled fields of a body against the schema, as strict decoding names them
 * (`unknown field "spec.x"`, `duplicate field "spec.x"`); and for built-in kinds the first value of
 * a wrong type, worded as the server does, as ERR_TYPE in `err`. Appends lines to `warnings`. */
MUST_CHECK int apiserver_strict(const struct apiserver_resource *resource, struct slice body,
				const json_t *object, json_t *warnings, char *err, size_t err_n);
/* The first value of a wrong type in what a strategic merge patch made of an object of a built-in
 * kind, worded as the server does then: ERR_TYPE. */
MUST_CHECK int apiserver_convert(const struct apiserver_resource *resource, const json_t *object,
				 char *err, size_t err_n);
/* What that conversion does to integers: those of 32 bits lose what is above, as in Go. */
void apiserver_narrow(const struct apiserver_resource *resource, json_t *object);
