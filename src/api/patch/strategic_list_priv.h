/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strategic merge patches: lists. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "api/patch/strategic_priv.h"
#include "base/compiler.h"

/* "$patch" */
extern const char strategic_directive[];

/* The merged list of both, a new reference; `deletion`: the items of the patch are removed. */
MUST_CHECK int strategic_list(const struct strategic *strategic,
			      const struct strategic_field *field, const json_t *original,
			      const json_t *patch, bool deletion, json_t **ret);
/* $setElementOrder: merges the list of this field and puts it in order. */
MUST_CHECK int strategic_order(const struct strategic *strategic, const char *name,
			       const json_t *order, json_t *original, json_t *patch);
/* As Go names types: "[]interface {}". */
const char *strategic_go_type(const json_t *value);
