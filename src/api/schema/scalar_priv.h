/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of one value without its members and items. */
#pragma once

#include <jansson.h>

#include "api/schema/node_priv.h"
#include "api/schema/result_priv.h"

void schema_check_type(const struct schema_node *node, const struct schema_walk *walk,
		       const json_t *value, struct schema_result *result);
void schema_check_enum(const struct schema_node *node, const struct schema_walk *walk,
		       const json_t *val, struct schema_result *result);
void schema_check_string(const struct schema_node *node, const struct schema_walk *walk,
			 const json_t *val, struct schema_result *result);
void schema_check_number(const struct schema_node *node, const struct schema_walk *walk,
			 const json_t *value, struct schema_result *result);
