/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The compiled schema: a tree with one node for each schema object. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/regex/regex.h"
#include "base/vec.h"

struct cel_type;
struct schema_node;
struct schema_rule;

enum schema_type {
	SCHEMA_ANY,
	SCHEMA_OBJECT,
	SCHEMA_ARRAY,
	SCHEMA_STRING,
	SCHEMA_INTEGER,
	SCHEMA_NUMBER,
	SCHEMA_BOOLEAN,
};
/* By schema_type; NULL ends it. */
extern const char *const schema_type_words[];

enum schema_list { SCHEMA_LIST_ATOMIC, SCHEMA_LIST_SET, SCHEMA_LIST_MAP };

/* A format of strings that the API server checks. */
struct schema_format {
	const char *name; /* without dashes, as formats are compared */
	bool (*fits)(struct slice text);
};

struct schema_bound {
	bool set;
	double value;
};

struct schema_nodes {
	struct schema_node **v;
	size_t n;
};

struct schema_strings {
	const char **v;
	size_t n;
};

/* A property by its name. */
struct schema_member {
	const char *key;
	size_t key_n;
	struct schema_node *node;
};

/* Some of a node's properties. */
struct schema_members {
	struct schema_member *v;
	size_t n;
};

struct schema_node {
	enum schema_type type;
	enum schema_list list;
	bool int_or_string, nullable, preserve, embedded, exclusive_min, exclusive_max;
	/* Here or below: rules; lists of type set or map; embedded objects; defaults. */
	bool any_rules, any_lists, any_embedded, any_defaults;
	bool is_required;		   /* the object around it demands this property */
	bool has_alternatives;		   /* anyOf, oneOf, allOf or not */
	const char *format;		   /* as written; NULL: none that is checked */
	const struct schema_format *check; /* of a format of strings */
	const json_t *default_value, *enums;
	struct regex *re;
	struct schema_bound min, max, multiple;
	int64_t min_length, max_length, min_items, max_items, min_properties,
		max_properties; /* -1: none */
	struct schema_strings required, map_keys;
	struct map properties; /* name -> struct schema_node *, in the order of the file */
	/* Properties with any_defaults, any_lists and any_rules. */
	struct schema_members defaulted, with_lists, with_rules;
	struct schema_node *additional, *items, *not_;
	struct schema_nodes all_of, any_of, one_of;
	const json_t *rules_source;
	const char *rules_path;	    /* for errors */
	struct cel_type *rule_type; /* for rules; NULL when the schema has none */
	struct schema_rule *rules;
	size_t n_rules;
};

struct api_schema {
	struct arena arena;
	json_t *source; /* what defaults and enums are borrowed from */
	struct schema_node *root;
	VEC(struct schema_node *) nodes; /* all, for freeing */
};

struct schema_node *schema_node_property(const struct schema_node *node, const char *key);
/* Does the schema describe values inside a value? */
static inline bool schema_node_has_members(const struct schema_node *node)
{
	return node->properties.n != 0 || node->additional != NULL || node->items != NULL;
}
/* The schema of a member: its own, or that of additional members; NULL for neither. */
const struct schema_node *schema_node_member(const struct schema_node *node, const char *key);
