/* The strategies, one per kind that needs one, and what they share. */
#pragma once

#include "apiserver/kind/resource.h"

extern const struct apiserver_strategy apiserver_configmap_strategy;
extern const struct apiserver_strategy apiserver_secret_strategy;
extern const struct apiserver_strategy apiserver_namespace_strategy;
extern const struct apiserver_strategy apiserver_service_strategy;
extern const struct apiserver_strategy apiserver_endpoints_strategy;
extern const struct apiserver_strategy apiserver_endpointslice_strategy;
extern const struct apiserver_strategy apiserver_pod_strategy;
extern const struct apiserver_strategy apiserver_node_strategy;
extern const struct apiserver_strategy apiserver_serviceaccount_strategy;
extern const struct apiserver_strategy apiserver_lease_strategy;
extern const struct apiserver_strategy apiserver_event_strategy;
extern const struct apiserver_strategy apiserver_events_event_strategy;
extern const struct apiserver_strategy apiserver_servicecidr_strategy;
extern const struct apiserver_strategy apiserver_crd_strategy;
extern const struct apiserver_strategy apiserver_access_review_strategy;
extern const struct apiserver_strategy apiserver_rules_review_strategy;
extern const struct apiserver_strategy apiserver_self_review_strategy;

enum { APISERVER_DATA_MAX_BYTES = 1 << 20 }; /* of a ConfigMap or a Secret */

/* Puts `value` (its reference goes over) where nothing is. */
void apiserver_default(json_t *object, const char *key, json_t *value);
/* The member, made as an empty object when it is not there. */
json_t *apiserver_member(json_t *object, const char *key);
/* Takes a member over from what was stored: a field that writes do not touch. */
void apiserver_take_old(json_t *object, const json_t *old, const char *key);
/* A text with at least one character? */
bool apiserver_has_text(const json_t *object, const char *key);
/* The whole number at a key; 0 when there is none. */
long long apiserver_number(const json_t *object, const char *key);
/* Is the text of `key` this one? */
bool apiserver_is(const json_t *object, const char *key, const char *word);
/* For `counts` of kinds whose objects have no generation. */
bool apiserver_no_generation(const json_t *object, const json_t *old);
/* Some kinds look at an update's metadata as if the object was new, too. */
void apiserver_validate_as_new(const json_t *object, struct api_errors *errs);

/* service_check.c */
void apiserver_service_validate(const struct apiserver_env *env, const json_t *object,
				const json_t *old, struct api_errors *errs);
/* service_family.c */
void apiserver_service_check_ips(const json_t *object, const json_t *old, struct api_errors *errs);
void apiserver_service_check_kept(const json_t *spec, const json_t *was, struct api_errors *errs);
/* What the server complains of before it gives addresses, when it then stops. */
void apiserver_service_check_families(const struct apiserver_env *env, const json_t *object,
				      const json_t *old, struct api_errors *errs);
/* service.c */
bool apiserver_service_is_headless(const json_t *spec);
bool apiserver_service_is_external(const json_t *spec); /* can be reached from outside */

/* service_status.c */
void apiserver_service_prepare_status(json_t *object, const json_t *old);
void apiserver_service_validate_status(const json_t *object, const json_t *old,
				       struct api_errors *errs);
