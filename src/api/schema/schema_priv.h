/* Inside of schemas: the compiled tree, one node per schema object. */
#pragma once

#include <stdint.h>

#include "api/schema/schema.h"
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

/* A format of strings that the server checks. */
struct schema_format {
	const char *name; /* without dashes, as formats are compared */
	bool (*fits)(struct slice s);
};

struct schema_bound {
	bool set;
	double v;
};

struct schema_nodes {
	struct schema_node **v;
	size_t n;
};

struct schema_strings {
	const char **v;
	size_t n;
};

struct schema_node {
	enum schema_type type;
	enum schema_list list;
	bool int_or_string, nullable, preserve, embedded, exclusive_min, exclusive_max;
	bool any_rules;			   /* here or below */
	const char *format;		   /* as written; NULL: none that is checked */
	const struct schema_format *check; /* of a format of strings */
	const json_t *default_value, *enums;
	struct regex *re;
	struct schema_bound min, max, multiple;
	int64_t min_length, max_length, min_items, max_items, min_properties,
		max_properties; /* -1: none */
	struct schema_strings required, map_keys;
	struct map properties; /* name -> struct schema_node *, in the order of the file */
	struct schema_node *additional, *items, *not_;
	struct schema_nodes all_of, any_of, one_of;
	const json_t *rules_source;
	const char *rules_place;    /* for errors */
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

/* ---- format.c ---- */

/* NULL with *ret_known false when the server does not check such a format; with true when it does,
 * but not here. */
const struct schema_format *schema_format_find(const char *name, bool *ret_known);

/* ---- scalar.c: values without what is inside of them ---- */

/* Errors found below one place and how many checks went well, which decides between alternatives.
 */
struct schema_result {
	struct api_errors errs;
	VEC(char *) keys; /* beside each error: the text by which equal ones are found */
	unsigned matches;
};

/* One walk over an object. */
struct schema_walk {
	struct regex_scratch *scratch;
	struct strbuf path; /* of the value that is looked at: "spec.list[1].name" */
	const char *under;  /* where the walk began: "" or "status"; messages leave it out */
};

void schema_result_done(struct schema_result *result);
/* Adds `from` and empties it. */
void schema_result_merge(struct schema_result *result, struct schema_result *from);
/* An error at the walk's path, whose text goes on with `fmt`: "spec.x in body should be ...". */
void schema_fail(struct schema_result *result, const struct schema_walk *walk,
		 enum api_fielderr_type type, const char *value, const char *fmt, ...)
	PRINTF_LIKE(5, 6);
/* An error without a place of its own. */
void schema_fail_whole(struct schema_result *result, const struct schema_walk *walk,
		       const char *fmt, ...) PRINTF_LIKE(3, 4);

void schema_check_type(const struct schema_node *node, const struct schema_walk *walk,
		       const json_t *value, struct schema_result *result);
void schema_check_enum(const struct schema_node *node, const struct schema_walk *walk,
		       const json_t *val, struct schema_result *result);
void schema_check_string(const struct schema_node *node, const struct schema_walk *walk,
			 const json_t *val, struct schema_result *result);
void schema_check_number(const struct schema_node *node, const struct schema_walk *walk,
			 const json_t *value, struct schema_result *result);

/* ---- validate.c, list.c, rule.c: the parts of a validation ---- */

/* `under`: "", or "status" when n, o and old are those of the status. */
void schema_validate_values(const struct schema_node *node, const json_t *object, const json_t *old,
			    const char *under, struct api_errors *errs);
/* Sets and maps hold nothing twice. */
void schema_validate_lists(const struct api_schema *schema, const json_t *object,
			   struct api_errors *errs);
/* Objects inside objects say what they are. */
void schema_validate_embedded(const struct api_schema *schema, const json_t *object,
			      struct api_errors *errs);

/* Rules hold; or, when an error above keeps them from being looked at, that they were not. */
void schema_validate_rules(const struct api_schema *schema, const json_t *object, const json_t *old,
			   struct api_errors *errs);
/* Compiles the rules of a node, once all nodes are there. */
MUST_CHECK int schema_rules_read(struct api_schema *schema, struct schema_node *node,
				 const json_t *list, char *err, size_t err_n);
void schema_rules_done(struct schema_node *node);

/* ---- used by several ---- */

struct schema_node *schema_property(const struct schema_node *node, const char *key);
/* The schema of a member: its own, else that of all others; NULL. */
const struct schema_node *schema_member(const struct schema_node *node, const char *key);
/* The item of a list of type map that has the same keys as `item`; NULL. */
const json_t *schema_same_key(const struct schema_node *node, const json_t *list,
			      const json_t *item);
/* Equal as the server compares an update with what was there: items of maps by their keys. */
bool schema_unchanged(const struct schema_node *node, const json_t *left, const json_t *right);

/* Places: append ".key" (without the dot at the start), "[i]" or "[key]"; cut back by length. */
void schema_path_child(struct strbuf *path, const char *key);
void schema_path_index(struct strbuf *path, size_t index);
void schema_path_key(struct strbuf *path, const char *key);
void schema_path_cut(struct strbuf *path, size_t count);
