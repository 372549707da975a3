/* Rules about names and other texts, complained about as kube-apiserver does: one error for each
 * thing that is wrong. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "api/fielderr.h"
#include "base/compiler.h"

/* Where complaints go. */
struct apiserver_at {
	struct api_errors *errs;
	const char *field;
	const char *shown; /* the value as written; NULL: the one that is looked at */
};

/* A rule about a text. */
typedef void (*apiserver_rule)(const struct apiserver_at *at, const char *s);

void apiserver_label(const struct apiserver_at *at, const char *text); /* RFC 1123 */
void apiserver_subdomain(const struct apiserver_at *at, const char *text);
void apiserver_path_segment(const struct apiserver_at *at, const char *text);
void apiserver_label_key(const struct apiserver_at *at, const char *text);
void apiserver_label_value(const struct apiserver_at *at, const char *text);
void apiserver_config_key(const struct apiserver_at *at, const char *text);
void apiserver_port_name(const struct apiserver_at *at, const char *text);

/* Keys and values of a map of labels. `field` is that of the map. */
void apiserver_labels(struct api_errors *errs, const char *field, const json_t *labels);

/* Errors with a formatted place. `value` may be NULL. */
void apiserver_invalid(struct api_errors *errs, const char *field, const json_t *value,
		       const char *detail);
void apiserver_required(struct api_errors *errs, const char *field, const char *detail);
void apiserver_forbidden(struct api_errors *errs, const char *field, const char *detail);
/* `words` are the texts that are allowed, NULL-terminated; false, and an error, when s is none. */
bool apiserver_one_of(struct api_errors *errs, const char *field, const char *text,
		      const char *const *words);
void apiserver_duplicate(struct api_errors *errs, const char *field, const json_t *value);
void apiserver_immutable(struct api_errors *errs, const char *field, const json_t *now,
			 const json_t *was);

/* A place: "spec.ports[0].name". Valid until the buffer is used again. */
struct apiserver_path {
	char s[256];
};
const char *apiserver_path(struct apiserver_path *path, const char *fmt, ...) PRINTF_LIKE(2, 3);
