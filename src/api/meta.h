/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the fields that every Kubernetes object has. Strings are borrowed from the tree. A
 * missing one is "", so that callers need no check; a missing label or annotation is NULL. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/strbuf.h"

const char *api_kind(const json_t *object);
const char *api_version(const json_t *object); /* "operator.openshift.io/v1" */
const char *api_name(const json_t *object);
const char *api_namespace(const json_t *object);
const char *api_uid(const json_t *object);
const char *api_resource_version(const json_t *object);
int64_t api_generation(const json_t *object);
bool api_is_deleting(const json_t *object);
/* NULL when there is none. */
const char *api_label(const json_t *object, const char *key);
const char *api_annotation(const json_t *object, const char *key);
/* An entry of ownerReferences that makes `owner` the controller of the object that has it: it is deleted
 * with its owner. */
json_t *api_owner_reference(const json_t *owner);
bool api_has_finalizer(const json_t *object, const char *name);
/* Does a list of texts, or NULL, have this one? */
bool api_list_has(const json_t *list, const char *text);
/* metadata.managedFields, or NULL. */
const json_t *api_managed_fields(const json_t *object);

/* "namespace/name", or "name" for objects of the cluster. */
void api_object_key(struct strbuf *out, const json_t *object);

/* The value at a path ("spec.templates[1].name"), or NULL. Keys with dots stand in brackets:
 * "metadata.annotations[example.org/a]". */
json_t *api_get(const json_t *object, const char *path);
const char *api_get_string(const json_t *object, const char *path); /* "" when no string is there */

/* Is it a name of RFC 1123: a label (63 characters), or a subdomain (253)? */
bool api_is_label_name(const char *text);
bool api_is_subdomain_name(const char *text);
/* Is it a subdomain that DNS can have, too: of labels? Names of objects may have longer parts. */
bool api_is_dns_domain(const char *text);
