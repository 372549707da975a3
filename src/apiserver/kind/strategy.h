/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strategies: code for what the schema of a kind cannot express, such as defaults that depend on other
 * fields, validation with kube-apiserver's wording, allocation of addresses. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "api/fielderr.h"
#include "api/kind.h"

enum { APISERVER_DATA_MAX_BYTES = 1 << 20 }; /* of a ConfigMap or a Secret */

/* A request as authorization sees it. Members that do not apply are "". */
struct apiserver_action {
	const char *verb; /* "get", "deletecollection" ...; for a path: the method in lower case */
	const char *group, *resource, *subresource, *ns, *name;
	const char *path; /* of a request that is for no resource */
};

/* Services of the server that a strategy may use during a write. */
struct apiserver_env {
	void *ctx;
	/* Allocates a Service address; `want` "": any. ERR_CONFLICT: in use, ERR_RANGE: outside of the
	 * range, ERR_SPACE: none left. */
	int (*allocate)(void *ctx, int family, const char *want, char *ret, size_t ret_n);
	void (*release)(void *ctx, const char *address);
	/* The same for node ports; `want` 0: any. */
	int (*allocate_port)(void *ctx, unsigned want, unsigned *ret);
	void (*release_port)(void *ctx, unsigned port);
	const char *const *service_cidrs; /* NULL-terminated, the first has the primary family */
	bool dry_run;			  /* allocate, but release at the end */
	bool applied;			  /* the object is the result of server-side apply */
	/* For reviews: whether the user may do it (NULL: nothing is allowed), and the user's groups. */
	bool (*may)(void *ctx, const char *user, const struct apiserver_action *action);
	const char *const *groups; /* NULL-terminated; NULL: none */
};

/* All functions may be NULL. `old` is the stored object, NULL for a new one. Both are in the version of
 * the request until to_stored has converted them. */
struct apiserver_strategy {
	const char *kind; /* "Service"; group as in api_kinds */
	const char *group;
	/* Runs after the schema's defaults and before validation: defaults that depend on other
	 * fields, and fields that a user cannot set or change. */
	void (*prepare)(const struct apiserver_env *env, json_t *object, const json_t *old);
	void (*validate)(const struct apiserver_env *env, const json_t *object, const json_t *old,
			 struct api_errors *errs);
	/* The same for a write to the status subresource. prepare_status gets the object as it was
	 * sent, whose spec is dropped afterwards. */
	void (*prepare_status)(json_t *object, const json_t *old);
	void (*validate_status)(const json_t *object, const json_t *old, struct api_errors *errs);
	/* Allocates what the valid object needs; on failure it adds an error and keeps nothing
	 * allocated. */
	int (*admit)(const struct apiserver_env *env, json_t *object, const json_t *old,
		     struct api_errors *errs);
	/* Releases what `object` has and `old` has not: after a write that failed, and with the two
	 * exchanged after a write that succeeded. */
	void (*undo)(const struct apiserver_env *env, const json_t *object, const json_t *old);
	/* Releases everything of a removed object. */
	void (*removed)(const struct apiserver_env *env, const json_t *object);
	/* Converts between this row's version and the stored one, in place. */
	void (*to_stored)(json_t *object, const char *version);
	void (*from_stored)(json_t *object, const char *version);
	/* A new array with one table cell per column, in the order of `columns`; null for columns
	 * that have a path. */
	json_t *(*cells)(const json_t *object, uint64_t now_s);
	/* Whether this change increases metadata.generation (for a new object: whether it has one).
	 * If NULL, every change outside of metadata and status does. */
	bool (*bumps_generation)(const json_t *object, const json_t *old);
	/* For kinds that are answered and not stored: fills in the answer. */
	void (*review)(const struct apiserver_env *env, json_t *object, const char *user);
};

/* The strategy of a kind; one without functions if it needs none. Never NULL. */
const struct apiserver_strategy *apiserver_strategy_of(const struct api_kind *kind);

/* `bumps_generation` of kinds whose objects have no generation. */
bool apiserver_no_generation(const json_t *object, const json_t *old);
/* Checks the metadata of an update as that of a new object: some kinds do so in addition. */
void apiserver_validate_as_new(const json_t *object, struct api_errors *errs);

/* Each in the file of its kind. */
extern const struct apiserver_strategy apiserver_configmap_strategy;
extern const struct apiserver_strategy apiserver_secret_strategy;
extern const struct apiserver_strategy apiserver_namespace_strategy;
extern const struct apiserver_strategy apiserver_service_strategy;
extern const struct apiserver_strategy apiserver_endpoints_strategy;
extern const struct apiserver_strategy apiserver_endpointslice_strategy;
extern const struct apiserver_strategy apiserver_ingress_strategy;
extern const struct apiserver_strategy apiserver_pod_strategy;
extern const struct apiserver_strategy apiserver_node_strategy;
extern const struct apiserver_strategy apiserver_lease_strategy;
extern const struct apiserver_strategy apiserver_event_strategy;
extern const struct apiserver_strategy apiserver_events_event_strategy;
extern const struct apiserver_strategy apiserver_crd_strategy;
extern const struct apiserver_strategy apiserver_access_review_strategy;
extern const struct apiserver_strategy apiserver_rules_review_strategy;
extern const struct apiserver_strategy apiserver_self_review_strategy;
