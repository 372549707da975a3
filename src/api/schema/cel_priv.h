/* The part of CEL that CRDs' rules are written in here (x-kubernetes-validations).
 *
 * In it: self, oldSelf, literals, lists, maps, field selection, indexing, has(), the macros all,
 * exists, exists_one, filter and map, ?:, &&, ||, !, comparison, arithmetic, `in`, size,
 * startsWith, endsWith, contains, matches (with a literal pattern), and hasValue, value and orValue
 * of an optional oldSelf. Anything else is an error when the rule is read.
 *
 * Expressions are type-checked against the schema, so a misspelt field is found when the CRD is
 * read. Evaluation costs about what the server counts and stops at a limit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "api/schema/schema_priv.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/regex.h"
#include "base/slice.h"

enum {
	CEL_BYTES_MAX = 8192,
	CEL_NODES_MAX = 2000,
	CEL_DEPTH_MAX = 100,
	CEL_SLOTS_MAX = 16, /* self, oldSelf and variables of macros inside each other */
	CEL_COST_MAX = 1000000,
};

enum { CEL_SLOT_SELF, CEL_SLOT_OLD, CEL_SLOT_FREE };

enum cel_type {
	CEL_NULL,
	CEL_BOOL,
	CEL_INT,
	CEL_DOUBLE,
	CEL_STRING,
	CEL_LIST,
	CEL_MAP,      /* also objects */
	CEL_OPTIONAL, /* of oldSelf */
	CEL_ERROR,
};

struct cel_value;

/* Either a part of the object (`json`, described by `node`) or made by the expression (`v`; of
 * maps, keys and values by turns). */
struct cel_items {
	const json_t *json;
	const struct schema_node *node;
	struct cel_value *v;
	size_t n;
};

struct cel_value {
	enum cel_type type;
	union {
		bool b;
		int64_t i;
		double d;
		struct slice s;
		struct cel_items items;
		const struct cel_value *inner; /* CEL_OPTIONAL; NULL: none */
		const char *error;
	} u;
};

enum cel_op {
	CEL_OP_LITERAL,
	CEL_OP_SLOT,
	CEL_OP_SELECT, /* arg[0].name */
	CEL_OP_HAS,
	CEL_OP_INDEX,
	CEL_OP_LIST,
	CEL_OP_MAP,
	CEL_OP_COND,
	CEL_OP_AND,
	CEL_OP_OR,
	CEL_OP_NOT,
	CEL_OP_NEGATE,
	CEL_OP_ADD,
	CEL_OP_SUB,
	CEL_OP_MUL,
	CEL_OP_DIV,
	CEL_OP_MOD,
	CEL_OP_EQ,
	CEL_OP_NE,
	CEL_OP_LT,
	CEL_OP_LE,
	CEL_OP_GT,
	CEL_OP_GE,
	CEL_OP_IN,
	CEL_OP_CALL,
	CEL_OP_LOOP, /* arg[0] is gone through; arg[1] is looked at for each; arg[2]: map's third */
};

enum cel_loop { CEL_ALL, CEL_EXISTS, CEL_EXISTS_ONE, CEL_FILTER, CEL_TRANSFORM };

enum { CEL_ARGS_MAX = 3 };

struct cel_node {
	enum cel_op op;
	struct cel_node **arg;
	size_t n_args;
	struct cel_value literal;
	const char *name; /* SELECT, HAS: of the field, as the object has it */
	unsigned slot;	  /* SLOT, LOOP */
	enum cel_loop loop;
	const struct cel_function *fn;
	struct regex *re; /* of matches() */
};

struct cel_expr {
	struct cel_node *root;
	bool uses_old;
	VEC(struct regex *) patterns; /* for freeing */
};

/* What an expression is about. */
struct cel_env {
	const struct schema_node *self;
	bool resource;	   /* self is a whole object: it has metadata.name and the like */
	bool optional_old; /* oldSelf is an optional */
	bool text;	   /* the result is a text, not a bool */
};

/* ---- cel_parse.c ---- */

/* Nodes from the arena, which outlives the expression. ERR_PARSE, ERR_UNSUPPORTED, ERR_LIMIT,
 * ERR_TYPE; `err` gets a sentence. */
MUST_CHECK int cel_parse(struct slice text, const struct cel_env *env, struct arena *arena,
			 struct cel_expr **ret, char *err, size_t err_n);
void cel_expr_done(struct cel_expr *expr);

/* ---- cel_lex.c ---- */

enum cel_token_type {
	CEL_T_END,
	CEL_T_NAME,
	CEL_T_INT,
	CEL_T_DOUBLE,
	CEL_T_STRING,
	CEL_T_OP, /* text is the operator */
};

struct cel_token {
	enum cel_token_type type;
	struct slice text; /* of a string: its value */
	int64_t i;
	double d;
};

/* The next token of *rest, cut off. Unescaped texts come from the arena. */
MUST_CHECK int cel_lex(struct slice *rest, struct arena *arena, struct cel_token *ret, char *err,
		       size_t err_n);
/* A field's name in a rule as the object has it ("x__dash__y" is "x-y"). */
const char *cel_field_name(struct slice escaped, struct arena *arena);

/* ---- cel_function.c ---- */

struct cel_run;
struct cel_function {
	const char *name;
	bool method, global; /* x.f(y), f(x, y) */
	size_t n_args;	     /* the receiver counted */
	struct cel_value (*call)(struct cel_run *r, const struct cel_node *n,
				 const struct cel_value *arg);
};
const struct cel_function *cel_function_find(struct slice name, bool method, size_t n_args);

/* ---- cel_check.c ---- */

/* Types of an expression against the schema: 0, or ERR_TYPE with a sentence. */
MUST_CHECK int cel_check(const struct cel_expr *expr, const struct cel_env *env,
			 struct arena *arena, char *err, size_t err_n);

/* ---- cel_eval.c ---- */

struct cel_run {
	struct arena *arena; /* growing */
	struct cel_value slot[CEL_SLOTS_MAX];
	struct regex_scratch *scratch;
	uint64_t cost, cost_max;
};

/* CEL_ERROR when something went wrong; r->cost > r->cost_max: it was ended. */
struct cel_value cel_eval(struct cel_run *run, const struct cel_node *node);
/* Adds to the cost. */
void cel_spend(struct cel_run *run, uint64_t cost);
/* What a text of n bytes costs to go through. */
uint64_t cel_text_cost(size_t count);

/* ---- cel_value.c ---- */

struct cel_value cel_of_json(const json_t *value, const struct schema_node *node);
struct cel_value cel_error(const char *text);
struct cel_value cel_errorf(struct cel_run *run, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct cel_value cel_bool(bool value);
struct cel_value cel_int(int64_t number);
struct cel_value cel_no_overload(void);
size_t cel_items_n(const struct cel_value *value);
struct cel_value cel_item(const struct cel_value *list, size_t index);
/* The keys of a map, as a list. */
struct cel_value cel_keys(struct cel_run *run, const struct cel_value *map);
/* The member of a map; false when there is none. */
bool cel_member(const struct cel_value *value, const struct cel_value *key, struct cel_value *ret);
bool cel_equal(struct cel_run *run, const struct cel_value *left, const struct cel_value *right);
/* Less, equal, greater: -1, 0, 1; 2 when they have no order. */
int cel_compare(const struct cel_value *left, const struct cel_value *right);
