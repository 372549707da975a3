/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The set of fields of a value, and sets seen through a schema. */
#pragma once

#include <jansson.h>

#include "api/apply/type_priv.h"
#include "api/fields/fieldset.h"

/* All fields of a value: leaves, items and members of maps. */
struct fieldset *managed_fields(struct managed_type type, const json_t *value);
/* Fields with something below become members, where the schema names them. */
struct fieldset *managed_fields_named(struct managed_type type, struct fieldset *fieldset);
/* The set as the present schema sees it: what became atomic since is owned as one field. */
struct fieldset *managed_fields_reconcile(struct managed_type type, struct fieldset *fieldset);
