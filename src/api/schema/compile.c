/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compiles the OpenAPI schema of a CRD into a tree of nodes, by a table of keywords. A keyword,
 * format or rule that is not supported is an error, never ignored. */
#include "api/schema/compile.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/schema/format_priv.h"
#include "api/schema/node_priv.h"
#include "api/schema/path_priv.h"
#include "api/schema/rule_priv.h"
#include "api/schema/rule_type_priv.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"

struct compile {
	struct api_schema *schema;
	struct strbuf path;		 /* "properties[spec].items" */
	unsigned depth, in_alternatives; /* nested: in how many alternatives */
	struct err_text err;
};

static int read_node(struct compile *compile, const json_t *object, struct schema_node **ret);

static int set_error(struct compile *compile, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);

static int set_error(struct compile *compile, int code, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_text_set(compile->err, "%s%s%s", compile->path.s, compile->path.n != 0 ? ": " : "",
		     text);
	return code;
}

static int set_wrong_type(struct compile *compile, const char *key, const char *what)
{
	return set_error(compile, ERR_PARSE, "'%s' must be %s", key, what);
}

struct keyword {
	const char *name;
	int (*read)(struct compile *compile, const struct keyword *keyword,
		    struct schema_node *node, const json_t *value);
	size_t offset;
};

static void *field_of(const struct keyword *keyword, struct schema_node *node)
{
	return (char *)node + keyword->offset;
}

static int read_ignored(struct compile *compile, const struct keyword *keyword,
			struct schema_node *node, const json_t *value)
{
	(void)compile, (void)keyword, (void)node, (void)value;
	return 0;
}

static int read_bool(struct compile *compile, const struct keyword *keyword,
		     struct schema_node *node, const json_t *value)
{
	if (!json_is_boolean(value))
		return set_wrong_type(compile, keyword->name, "true or false");
	*(bool *)field_of(keyword, node) = json_is_true(value);
	return 0;
}

static int read_count(struct compile *compile, const struct keyword *keyword,
		      struct schema_node *node, const json_t *value)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return set_wrong_type(compile, keyword->name, "a whole number, not negative");
	*(int64_t *)field_of(keyword, node) = json_integer_value(value);
	return 0;
}

static int read_bound(struct compile *compile, const struct keyword *keyword,
		      struct schema_node *node, const json_t *value)
{
	if (!json_is_number(value))
		return set_wrong_type(compile, keyword->name, "a number");
	*(struct schema_bound *)field_of(keyword, node) =
		(struct schema_bound){ true, json_number_value(value) };
	return 0;
}

static int read_json(struct compile *compile, const struct keyword *keyword,
		     struct schema_node *node, const json_t *value)
{
	(void)compile;
	*(const json_t **)field_of(keyword, node) = value;
	return 0;
}

static int read_enum(struct compile *compile, const struct keyword *keyword,
		     struct schema_node *node, const json_t *value)
{
	if (json_array_size(value) == 0)
		return set_wrong_type(compile, keyword->name, "a list that is not empty");
	return read_json(compile, keyword, node, value);
}

static int read_strings(struct compile *compile, const struct keyword *keyword,
			struct schema_node *node, const json_t *value)
{
	struct schema_strings *list = field_of(keyword, node);
	if (!json_is_array(value))
		return set_wrong_type(compile, keyword->name, "a list of strings");
	list->n = json_array_size(value);
	list->v = arena_calloc(&compile->schema->arena, (list->n + 1) * sizeof(*list->v));
	for (size_t i = 0; i < list->n; i++) {
		list->v[i] = api_text_or(json_array_get(value, i), NULL);
		if (list->v[i] == NULL)
			return set_wrong_type(compile, keyword->name, "a list of strings");
	}
	return 0;
}

/* One of some words: its place in the table. */
static int read_word(struct compile *compile, const struct keyword *keyword, const json_t *value,
		     const char *const *words)
{
	const char *s = api_text(value);
	for (int i = 0; words[i] != NULL; i++) {
		if (strcmp(words[i], s) == 0)
			return i;
	}
	return set_wrong_type(compile, keyword->name, "one of the values that are supported");
}

static int read_type(struct compile *compile, const struct keyword *keyword,
		     struct schema_node *node, const json_t *value)
{
	int i = read_word(compile, keyword, value, schema_type_words);
	if (i >= 0)
		node->type = (enum schema_type)i;
	return MIN(i, 0);
}

static int read_list_type(struct compile *compile, const struct keyword *keyword,
			  struct schema_node *node, const json_t *value)
{
	static const char *const words[] = {
		[SCHEMA_LIST_ATOMIC] = "atomic",
		[SCHEMA_LIST_SET] = "set",
		[SCHEMA_LIST_MAP] = "map",
		NULL,
	};
	int i = read_word(compile, keyword, value, words);
	if (i >= 0)
		node->list = (enum schema_list)i;
	return MIN(i, 0);
}

static int read_map_type(struct compile *compile, const struct keyword *keyword,
			 struct schema_node *node, const json_t *value)
{
	static const char *const words[] = { "atomic", "granular", NULL };
	(void)node;
	return MIN(read_word(compile, keyword, value, words), 0);
}

static int read_format(struct compile *compile, const struct keyword *keyword,
		       struct schema_node *node, const json_t *value)
{
	if (!json_is_string(value))
		return set_wrong_type(compile, keyword->name, "a string");
	node->format = api_text(value); /* settled when the type is known */
	return 0;
}

static int read_pattern(struct compile *compile, const struct keyword *keyword,
			struct schema_node *node, const json_t *value)
{
	struct srcerr err = { 0 };
	if (!json_is_string(value))
		return set_wrong_type(compile, keyword->name, "a string");
	if (json_string_length(value) == 0)
		return 0;
	struct slice pattern = api_text_slice(value);
	int r = regex_new(pattern, &node->re, &err);
	if (r < 0)
		return set_error(compile, r, "'pattern': %s", err.text);
	return 0;
}

static struct schema_node *new_node(struct compile *compile)
{
	struct schema_node *n = arena_calloc(&compile->schema->arena, sizeof(*n));
	n->min_length = n->max_length = n->min_items = n->max_items = -1;
	n->min_properties = n->max_properties = -1;
	map_init(&n->properties);
	vec_push(&compile->schema->nodes, n);
	return n;
}

/* Reads `value` as the schema that is reached by `step`. */
static int read_below(struct compile *compile, const char *step, const char *key,
		      const json_t *value, struct schema_node **ret)
{
	size_t n = compile->path.n;
	strbuf_addf(&compile->path, "%s%s", n != 0 ? "." : "", step);
	if (key != NULL)
		strbuf_addf(&compile->path, "[%s]", key);
	int r = read_node(compile, value, ret);
	if (r >= 0)
		schema_path_cut(&compile->path, n);
	return r;
}

static int read_schema(struct compile *compile, const struct keyword *keyword,
		       struct schema_node *node, const json_t *value)
{
	return read_below(compile, keyword->name, NULL, value, field_of(keyword, node));
}

static int read_additional(struct compile *compile, const struct keyword *keyword,
			   struct schema_node *node, const json_t *value)
{
	if (json_is_true(value)) {
		node->additional = new_node(compile); /* without any demand */
		return 0;
	}
	return read_schema(compile, keyword, node, value);
}

static int read_not(struct compile *compile, const struct keyword *keyword,
		    struct schema_node *node, const json_t *value)
{
	compile->in_alternatives++;
	int r = read_schema(compile, keyword, node, value);
	compile->in_alternatives--;
	return r;
}

static int read_schemas(struct compile *compile, const struct keyword *keyword,
			struct schema_node *node, const json_t *value)
{
	struct schema_nodes *list = field_of(keyword, node);
	if (!json_is_array(value))
		return set_wrong_type(compile, keyword->name, "a list of schemas");
	compile->in_alternatives++;
	list->v = arena_calloc(&compile->schema->arena,
			       (json_array_size(value) + 1) * sizeof(*list->v));
	for (size_t i = 0; i < json_array_size(value); i++) {
		char number[24];
		snprintf(number, sizeof(number), "%zu", i);
		int r = read_below(compile, keyword->name, number, json_array_get(value, i),
				   &list->v[i]);
		if (r < 0)
			return r;
		list->n++;
	}
	compile->in_alternatives--;
	return 0;
}

/* Kept until all nodes are there: a rule may name what stands behind it. */
static int read_rules(struct compile *compile, const struct keyword *keyword,
		      struct schema_node *node, const json_t *value)
{
	if (!json_is_array(value))
		return set_wrong_type(compile, keyword->name, "a list of rules");
	if (compile->in_alternatives != 0)
		return set_error(compile, ERR_UNSUPPORTED,
				 "rules inside alternatives are not supported");
	node->rules_source = value;
	node->rules_path = arena_strdup(&compile->schema->arena, compile->path.s);
	return 0;
}

static int read_properties(struct compile *compile, const struct keyword *keyword,
			   struct schema_node *node, const json_t *val)
{
	const char *key;
	json_t *value;
	if (!json_is_object(val))
		return set_wrong_type(compile, keyword->name, "an object of schemas");
	json_object_foreach (api_tree(val), key, value) {
		struct schema_node *child;
		int r = read_below(compile, keyword->name, key, value, &child);
		if (r < 0)
			return r;
		map_set(&node->properties, slice_of(key), child);
	}
	return 0;
}

#define AT(member) offsetof(struct schema_node, member)
static const struct keyword keywords[] = {
	{ "additionalProperties", read_additional, AT(additional) },
	{ "allOf", read_schemas, AT(all_of) },
	{ "anyOf", read_schemas, AT(any_of) },
	{ "default", read_json, AT(default_value) },
	{ "description", read_ignored, 0 },
	{ "enum", read_enum, AT(enums) },
	{ "example", read_ignored, 0 },
	{ "exclusiveMaximum", read_bool, AT(exclusive_max) },
	{ "exclusiveMinimum", read_bool, AT(exclusive_min) },
	{ "externalDocs", read_ignored, 0 },
	{ "format", read_format, 0 },
	{ "items", read_schema, AT(items) },
	{ "maxItems", read_count, AT(max_items) },
	{ "maxLength", read_count, AT(max_length) },
	{ "maxProperties", read_count, AT(max_properties) },
	{ "maximum", read_bound, AT(max) },
	{ "minItems", read_count, AT(min_items) },
	{ "minLength", read_count, AT(min_length) },
	{ "minProperties", read_count, AT(min_properties) },
	{ "minimum", read_bound, AT(min) },
	{ "multipleOf", read_bound, AT(multiple) },
	{ "not", read_not, AT(not_) },
	{ "nullable", read_bool, AT(nullable) },
	{ "oneOf", read_schemas, AT(one_of) },
	{ "pattern", read_pattern, 0 },
	{ "properties", read_properties, 0 },
	{ "required", read_strings, AT(required) },
	{ "title", read_ignored, 0 },
	{ "type", read_type, 0 },
	{ "x-kubernetes-embedded-resource", read_bool, AT(embedded) },
	{ "x-kubernetes-int-or-string", read_bool, AT(int_or_string) },
	{ "x-kubernetes-list-map-keys", read_strings, AT(map_keys) },
	{ "x-kubernetes-list-type", read_list_type, 0 },
	{ "x-kubernetes-map-type", read_map_type, 0 },
	{ "x-kubernetes-preserve-unknown-fields", read_bool, AT(preserve) },
	{ "x-kubernetes-validations", read_rules, 0 },
};

static const struct keyword *find_keyword(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(keywords); i++) {
		if (strcmp(keywords[i].name, name) == 0)
			return &keywords[i];
	}
	return NULL;
}

static bool is_either(const char *text, const char *first, const char *second)
{
	return strcmp(text, first) == 0 || strcmp(text, second) == 0;
}

/* A format that the server does not check for this type is as good as none. */
static int finish_format(struct compile *compile, struct schema_node *node)
{
	bool known = false, kept = false;
	if (node->format == NULL)
		return 0;
	if (node->type == SCHEMA_INTEGER) {
		kept = !node->int_or_string && is_either(node->format, "int32", "int64");
	} else if (node->type == SCHEMA_NUMBER) {
		kept = is_either(node->format, "float", "double");
	} else if (node->type == SCHEMA_STRING || node->type == SCHEMA_ANY) {
		node->check = schema_format_find(node->format, &known);
		kept = node->check != NULL;
	}
	if (known && node->check == NULL)
		return set_error(compile, ERR_UNSUPPORTED, "format '%s' is not supported",
				 node->format);
	if (!kept)
		node->format = NULL;
	return 0;
}

static int finish_node(struct compile *compile, struct schema_node *node)
{
	if (json_is_null(node->default_value))
		node->default_value = NULL; /* as good as none */
	if (node->list == SCHEMA_LIST_MAP && node->map_keys.n == 0)
		return set_error(compile, ERR_PARSE,
				 "a list of type map needs x-kubernetes-list-map-keys");
	if (node->multiple.set && node->multiple.value <= 0)
		return set_wrong_type(compile, "multipleOf", "greater than 0");
	node->has_alternatives = node->any_of.n != 0 || node->one_of.n != 0 ||
				 node->all_of.n != 0 || node->not_ != NULL;
	for (size_t i = 0; i < node->required.n; i++) {
		struct schema_node *property = schema_node_property(node, node->required.v[i]);
		if (property != NULL)
			property->is_required = true;
	}
	return finish_format(compile, node);
}

static int read_node(struct compile *compile, const json_t *object, struct schema_node **ret)
{
	const char *key;
	json_t *value;
	if (!json_is_object(object))
		return set_error(compile, ERR_PARSE, "a schema must be an object");
	if (compile->depth >= API_SCHEMA_DEPTH_MAX ||
	    compile->schema->nodes.n >= API_SCHEMA_NODES_MAX)
		return set_error(compile, ERR_LIMIT, "the schema is too large");
	struct schema_node *n = new_node(compile);
	compile->depth++;
	json_object_foreach (api_tree(object), key, value) {
		const struct keyword *k = find_keyword(key);
		if (k == NULL)
			return set_error(compile, ERR_UNSUPPORTED, "keyword '%s' is not supported",
					 key);
		int r = k->read(compile, k, n, value);
		if (r < 0)
			return r;
	}
	assert(compile->depth != 0);
	compile->depth--;
	*ret = n;
	return finish_node(compile, n);
}

static void mark_node(struct arena *arena, struct schema_node *node);

static void mark_by_child(struct arena *arena, struct schema_node *node, struct schema_node *child)
{
	if (child == NULL)
		return;
	mark_node(arena, child);
	node->any_rules |= child->any_rules;
	node->any_lists |= child->any_lists;
	node->any_embedded |= child->any_embedded;
	node->any_defaults |= child->any_defaults;
}

/* Lists the properties that have a mark, so that walks need not search for them. */
static void list_marked(struct arena *arena, const struct schema_node *node,
			bool (*has_mark)(const struct schema_node *child),
			struct schema_members *ret)
{
	size_t pos = 0, n = 0;
	for (const struct map_entry *e; (e = map_next(&node->properties, &pos)) != NULL;)
		n += has_mark(e->value);
	*ret = (struct schema_members){ .v = arena_calloc(arena, n * sizeof(*ret->v)) };
	pos = 0;
	for (const struct map_entry *e; (e = map_next(&node->properties, &pos)) != NULL;) {
		if (has_mark(e->value))
			ret->v[ret->n++] = (struct schema_member){ e->key, e->key_n, e->value };
	}
}

static bool has_defaults(const struct schema_node *node)
{
	return node->any_defaults;
}

static bool has_lists(const struct schema_node *node)
{
	return node->any_lists;
}

static bool has_rules(const struct schema_node *node)
{
	return node->any_rules;
}

/* Marks the nodes that lead to what only some have, so that walks leave out the others. */
static void mark_node(struct arena *arena, struct schema_node *node)
{
	size_t pos = 0;
	node->any_rules = node->n_rules != 0;
	node->any_lists = node->list == SCHEMA_LIST_SET || node->list == SCHEMA_LIST_MAP;
	node->any_embedded = node->embedded;
	node->any_defaults = node->default_value != NULL;
	for (const struct map_entry *e; (e = map_next(&node->properties, &pos)) != NULL;)
		mark_by_child(arena, node, e->value);
	mark_by_child(arena, node, node->items);
	mark_by_child(arena, node, node->additional);
	list_marked(arena, node, has_defaults, &node->defaulted);
	list_marked(arena, node, has_lists, &node->with_lists);
	list_marked(arena, node, has_rules, &node->with_rules);
}

static int read_all_rules(struct api_schema *schema, struct err_text err)
{
	schema_rule_types_init(schema);
	for (size_t i = 0; i < schema->nodes.n; i++) {
		struct schema_node *n = schema->nodes.v[i];
		char text[448];
		int r = schema_rules_read(schema, n, n->rules_source, ERR_TEXT(text));
		if (r < 0) {
			err_text_set(err, "%s%sx-kubernetes-validations%s", n->rules_path,
				     n->rules_path[0] != '\0' ? "." : "", text);
			return r;
		}
	}
	mark_node(&schema->arena, schema->root);
	return 0;
}

void api_schema_free(struct api_schema *schema)
{
	if (schema == NULL)
		return;
	for (size_t i = 0; i < schema->nodes.n; i++) {
		schema_rules_done(schema->nodes.v[i]);
		schema_rule_type_done(schema->nodes.v[i]);
		map_done(&schema->nodes.v[i]->properties);
		regex_free(schema->nodes.v[i]->re);
	}
	vec_done(&schema->nodes);
	arena_done(&schema->arena);
	json_decref(schema->source);
	free(schema);
}

int api_schema_new(const json_t *openapi, struct api_schema **ret, struct err_text err)
{
	CLEANUP(api_schema_freep) struct api_schema *s = xcalloc(1, sizeof(*s));
	struct compile c = { .schema = s, .path = STRBUF_INIT, .err = err };
	arena_init(&s->arena);
	s->source = json_deep_copy(openapi);
	int r = read_node(&c, s->source, &s->root);
	strbuf_done(&c.path);
	if (r >= 0)
		r = read_all_rules(s, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}
