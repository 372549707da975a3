/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Validation rules of a schema (x-kubernetes-validations). */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "api/fielderr.h"
#include "base/compiler.h"
#include "base/err_text.h"

struct api_schema;
struct schema_node;

/* Evaluates the rules; if an error of another check prevents that, adds an error about it. */
void schema_validate_rules(const struct api_schema *schema, const json_t *object, const json_t *old,
			   struct api_errors *errs);
/* Compiles the rules of a node, after all nodes were read. */
MUST_CHECK int schema_rules_read(struct api_schema *schema, struct schema_node *node,
				 const json_t *list, struct err_text err);
void schema_rules_done(struct schema_node *node);
