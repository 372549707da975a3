/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Server-side apply and managedFields: which writer owns which field of an object, and merging an
 * applied configuration into it. Works on trees by the schema's list types and keys
 * (x-kubernetes-list-type, -list-map-keys, -map-type); results, managedFields included, are the same
 * as the API server's. This header includes those of apply and of its conflicts.
 *
 * Trees passed in are not changed; results are new references. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "api/apply/apply.h"
#include "api/apply/conflict.h"
#include "base/compiler.h"
#include "base/err_text.h"

enum {
	API_MANAGED_DEPTH_MAX = 64,
	API_MANAGED_FIELDS_MAX = 100000, /* paths of one object */
	API_MANAGED_ENTRIES_MAX = 256,	 /* updaters beyond ten are merged into ancient-changes, as
					    the server does; appliers stay, and one more is refused */
};

struct api_managed_write {
	const json_t *schema;	 /* openAPIV3Schema; NULL: everything deduced from the values */
	const json_t *live;	 /* as stored, with managedFields. NULL or without a uid: the object
				    is being created. The fields of an initial object without any
				    input, such as {"spec":{}}, have no owner */
	const char *manager;	 /* never empty */
	const char *subresource; /* "" or "status" */
	const char *api_version; /* of the request */
	const char *time;	 /* now, as objects write it */
	/* Paths that this write cannot change ("status", "metadata.deletionTimestamp"); nobody gets
	 * to own them by it. A CRD: "status", or "metadata" and "spec" for the status subresource;
	 * nothing where it has none. NULL-terminated; NULL: none. */
	const char *const *reset;
	/* Other apiVersions in which the kind is still known, with the same fields; what was
	 * written in any other is forgotten. NULL-terminated; NULL: none. */
	const char *const *versions;
	bool built_in;	   /* not of a CRD */
	bool schema_stays; /* it is never freed nor changed: what was read from it is remembered */
};

/* After an update, patch or create: the object with its managedFields as they must be stored.
 * `object` is what the client wants, defaulted, but before what the server sets by itself
 * (addresses, uid). `object` may carry managedFields that the client rewrote; a list of one empty
 * entry (for built-in kinds an empty list, too) resets them, and what cannot be read is ignored, as
 * the server does: for CRDs also what is in versions that are not known. An object that had none,
 * or does not fit its schema, is left with those of `live`. *ret shares what is inside of `object`: only
 * one of them may be changed from then on. ERR_LIMIT: too large an object. */
MUST_CHECK int api_managed_update(const struct api_managed_write *write, const json_t *object,
				  json_t **ret, struct err_text err);

/* A shallow copy of the object and of its metadata, without managedFields. */
json_t *api_managed_strip(const json_t *object);

/* Last before an object is stored: where nothing changed but times of managedFields, they are as
 * they were, so that the write is none. */
void api_managed_keep_times(const json_t *old, json_t *object);
