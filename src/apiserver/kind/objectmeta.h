/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Validation of metadata: name, labels, owners, finalizers. */
#pragma once

#include <jansson.h>

#include "api/fielderr.h"
#include "apiserver/kind/resource.h"
#include "base/strbuf.h"

enum { APISERVER_ANNOTATIONS_MAX_BYTES = 256 << 10 };

/* Drops repeated owner references; appends a warning, which contains `when`. */
void apiserver_drop_duplicate_owners(json_t *object, const char *when, struct strbuf *warnings);
/* `old` is NULL for a new object, whose generated name is already set. */
void apiserver_objectmeta_validate(const struct apiserver_resource *resource, const json_t *object,
				   const json_t *old, struct api_errors *errs);
/* The part of it that only updates have: fields that cannot change, and what must hold for others. */
void apiserver_objectmeta_validate_update(const json_t *object, const json_t *old,
					  struct api_errors *errs);
