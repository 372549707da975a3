/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Syntax rules for names, labels and keys. Each function adds one error per violated rule, worded as
 * kube-apiserver words it. */
#pragma once

#include <jansson.h>

#include "api/fielderr.h"

/* The field that a rule checks, and where its errors go. */
struct apiserver_field {
	struct api_errors *errs;
	const char *field;
	const char *shown; /* the value that errors show; NULL: the checked text */
};

typedef void (*apiserver_rule)(const struct apiserver_field *at, const char *text);

void apiserver_check_label(const struct apiserver_field *at, const char *text); /* RFC 1123 */
void apiserver_check_subdomain(const struct apiserver_field *at, const char *text);
/* `*.` and a subdomain. */
void apiserver_check_wildcard(const struct apiserver_field *at, const char *text);
void apiserver_check_path_segment(const struct apiserver_field *at, const char *text);
void apiserver_check_label_key(const struct apiserver_field *at, const char *text);
void apiserver_check_label_value(const struct apiserver_field *at, const char *text);
void apiserver_check_config_key(const struct apiserver_field *at, const char *text);
void apiserver_check_port_name(const struct apiserver_field *at, const char *text);

/* Checks all keys and values of a map of labels; `field` is the map's. */
void apiserver_check_labels(struct api_errors *errs, const char *field, const json_t *labels);
