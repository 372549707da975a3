/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The types that rules see: one struct cel_type for each node of a schema. */
#pragma once

struct api_schema;
struct schema_node;

/* Describes all nodes, if the schema has rules at all. Call it once, after the nodes were read. */
void schema_rule_types_init(struct api_schema *schema);
void schema_rule_type_done(struct schema_node *node);
