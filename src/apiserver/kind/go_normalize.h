/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes an object as decoding into kube-apiserver's Go types and encoding again would: empty fields
 * are dropped unless the type always encodes them; those are added. The schema's `x-go` describes the
 * types (see resource.h). */
#pragma once

#include <jansson.h>

#include "apiserver/kind/resource.h"

/* An object of a built-in kind. */
void apiserver_go_normalize(const struct apiserver_resource *resource, json_t *object);
/* The same, given the schema. */
void apiserver_go_normalize_by(const json_t *schema, json_t *object);
/* Replaces null in lists and maps by the zero value of the item's type, as Go's decoder does. Runs first
 * on every object that a client sends. In custom resources only metadata has Go types. managedFields that
 * the object shares with `old`, the stored one or NULL, are left alone. */
void apiserver_go_fill_nulls(const struct apiserver_resource *resource, json_t *object,
			     const json_t *old);
/* The metadata alone: it has Go types in custom resources, too. `old` as above. */
void apiserver_go_normalize_metadata(json_t *object, const json_t *old);
