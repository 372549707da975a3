/* Server-side apply: who set which field of an object, and merging what an applier says. Works on
 * trees by the schema's list types and keys (x-kubernetes-list-type, -list-map-keys, -map-type);
 * results, managedFields included, are the API server's.
 *
 * Trees given are not changed; results are new references. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/strbuf.h"

enum {
	API_MANAGED_DEPTH_MAX = 64,
	API_MANAGED_FIELDS_MAX = 100000, /* paths of one object */
	API_MANAGED_ENTRIES_MAX = 64, /* updaters beyond ten are merged into ancient-changes, as the
					 server does; appliers stay */
};

struct api_managed_write {
	const json_t *schema;	 /* openAPIV3Schema; NULL: everything deduced from the values */
	const json_t *live;	 /* as stored, with managedFields; NULL: it is new */
	const char *manager;	 /* never empty */
	const char *subresource; /* "" or "status" */
	const char *api_version; /* of the request */
	const char *time;	 /* now, as objects write it */
};

/* After an update, patch or create: managedFields of `o` as they must be stored. `o` may carry
 * managedFields that the client rewrote; they are checked (ERR_PARSE with a sentence) and an empty
 * list resets them. */
MUST_CHECK int api_managed_update(const struct api_managed_write *w, const json_t *o, json_t **ret,
				  char *err, size_t err_n);

struct api_conflict {
	char *manager; /* "kubectl-edit" using v1 at ... as the message shows it */
	char *field;   /* ".spec.replicas" */
};
struct api_conflicts {
	struct api_conflict *v;
	size_t n, cap;
};
void api_conflicts_done(struct api_conflicts *c);
/* `Apply failed with 2 conflicts: conflicts with "a" using v1: ...`, as the server says it. */
void api_conflicts_text(const struct api_conflicts *c, struct strbuf *out);
/* details.causes: a new array. */
json_t *api_conflicts_causes(const struct api_conflicts *c);

/* The object after `config` was applied, with its managedFields. ERR_CONFLICT: others own what it
 * would change and `force` is not set: `conflicts` has them. ERR_CONFIG: the configuration cannot
 * be applied (managedFields in it, a list key missing or twice): a sentence. An apply that changes
 * nothing gives an object equal to live, times included. */
MUST_CHECK int api_managed_apply(const struct api_managed_write *w, const json_t *config,
				 bool force, json_t **ret, struct api_conflicts *conflicts,
				 char *err, size_t err_n);
