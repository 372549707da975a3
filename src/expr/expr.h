/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The expression language of `view` and of template's `var` and `expr`: expr-lang 1.17 as CoreDNS
 * 1.15 sets it up. A text is parsed, type-checked and folded once, at load; evaluation then takes
 * memory only from the caller's arena. What expr-lang has and this has not is refused at load:
 * now, duration, date, timezone, patterns for `matches` that are not known at load, `$env` other
 * than `$env.name`, and functions used as values.
 *
 * One parsed expression may be evaluated by many threads at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/srcpos.h"

struct arena;
struct expr;
struct expr_pair;
struct expr_run;
struct regex_scratch;

enum {
	EXPR_TEXT_MAX = 64 * 1024, /* bytes of one expression */
	EXPR_NODES_MAX = 10000,	   /* nodes of one expression */
	EXPR_NESTING_MAX = 200,	   /* brackets, calls, prefix operators inside each other */
	EXPR_HEIGHT_MAX = 1000,	   /* height of the tree: a + b + c ... grows it too */
	EXPR_VALUE_DEPTH_MAX = 64, /* lists in lists */
	EXPR_MEMORY_MAX =
		1000000,	  /* units: list elements and repeated bytes, as expr-lang counts */
	EXPR_STEPS_MAX = 1000000, /* nodes and elements visited by one evaluation */
	EXPR_FUNC_ARGS_MAX = 4,
};

enum expr_type {
	EXPR_NIL,
	EXPR_BOOL,
	EXPR_INT,
	EXPR_FLOAT,
	EXPR_STRING,
	EXPR_BYTES, /* b'...'; behaves as a list of ints */
	EXPR_LIST,
	EXPR_MAP,     /* keys are strings */
	EXPR_ANYMAP,  /* keys are scalars of any type (groupBy, fromPairs) */
	EXPR_STRINGS, /* static type only: a list known to hold strings; at run time EXPR_LIST */
	EXPR_ANY,     /* static type only: known at run time */
};

/* Read with expr_list_len and expr_list_at: `range` in the value tells which arm is meant. */
struct expr_list {
	union {
		const struct expr_value *v;
		int64_t from; /* the integers from here on */
	};
	size_t n;
};

/* Pairs sorted by key, each key once. */
struct expr_map {
	const struct expr_pair *v;
	size_t n;
};

struct expr_value {
	enum expr_type type;
	uint16_t depth; /* 0 for scalars, else 1 + the deepest element's */
	bool range;	/* LIST: consecutive integers, not stored */
	union {
		bool b;
		int64_t i;
		double f;
		struct slice s; /* STRING, BYTES */
		struct expr_list list;
		struct expr_map map;
	};
};

struct expr_pair {
	struct expr_value key;
	struct expr_value value;
};

/* Computes `ret` from as many arguments as declared, each of its declared type. May take memory
 * from run->arena; what `ret` refers to must live as long as the arena's contents. On failure
 * writes a sentence to `errtext` and returns a negative code. */
typedef int (*expr_fn)(const struct expr_run *run, const struct expr_value *args,
		       struct expr_value *ret, char *errtext, size_t n_errtext);

struct expr_func {
	const char *name;
	unsigned n_args;
	enum expr_type args[EXPR_FUNC_ARGS_MAX]; /* BOOL INT FLOAT STRING or ANY */
	enum expr_type result;			 /* BOOL INT FLOAT STRING */
	expr_fn fn;
};

/* A variable that expressions may name; its value is run->vars[index in expr_env.vars]. */
struct expr_var {
	struct slice name;
	enum expr_type type; /* expr_type() of the expression that computes it */
	/* expr_constant() of that expression, or NULL. Only with it can the variable be the pattern
	 * of `matches`. */
	const struct expr_value *constant;
};

/* Borrowed while parsing; `funcs` as long as the expression lives. A function hides the builtin
 * of its name. */
struct expr_env {
	const struct expr_func *funcs;
	size_t n_funcs;
	const struct expr_var *vars;
	size_t n_vars;
};

/* What one evaluation works with; the caller's. */
struct expr_run {
	void *ctx;		       /* for the functions */
	const struct expr_value *vars; /* as many as the environment declared */
	struct arena *arena;	       /* results may point into it */
	/* For `matches`; of at least expr_regex_groups() groups; NULL when that is not used. */
	struct regex_scratch *scratch;
};

/* Errors read as CoreDNS's users know them, with line and column inside the expression:
 * "unknown name x (1:4)". The error's own place is `base`. The text is not kept. */
MUST_CHECK int expr_parse(struct slice text, struct srcpos base, const struct expr_env *env,
			  struct expr **ret, struct srcerr *reterr);
void expr_free(struct expr *expr);
static inline void expr_freep(struct expr **expr)
{
	expr_free(*expr);
}

/* Static type; EXPR_ANY when only evaluation can tell. */
enum expr_type expr_type(const struct expr *expr);
/* The value when it is the same in every evaluation, else NULL; lives as long as `expr`. */
const struct expr_value *expr_constant(const struct expr *expr);
/* Whether evaluation needs run->scratch; its largest number of groups then. */
bool expr_uses_regex(const struct expr *expr);
unsigned expr_regex_groups(const struct expr *expr);

/* ERR_LIMIT when arena, memory units or steps are used up ("memory budget exceeded"), another
 * negative code for errors of the expression; the reason is in `errtext`. Strings of the result
 * may point into the arena, into `expr`, or into what functions and variables gave. */
MUST_CHECK int expr_eval(const struct expr *expr, const struct expr_run *run,
			 struct expr_value *ret, char *errtext, size_t n_errtext);

/* True for builtins, keywords and literals: names that no variable may have. */
bool expr_reserved_name(struct slice name);

/* Renders as Go's %v does; nil is "<nil>" (a Go template shows "<no value>" for a nil of its own).
 * `out` is terminated. ERR_SPACE when `len` bytes do not suffice. */
MUST_CHECK int expr_value_print(const struct expr_value *value, char *out, size_t len,
				size_t *ret_len);

/* Lists as one shape: BYTES, ranges and lists; 0 elements for any other type. */
size_t expr_list_len(const struct expr_value *value);
struct expr_value expr_list_at(const struct expr_value *value, size_t index);
/* The value of a key, NULL when there is none or `value` is no map. */
const struct expr_value *expr_map_get(const struct expr_value *value, const struct expr_value *key);

static inline struct expr_value expr_nil(void)
{
	return (struct expr_value){ .type = EXPR_NIL };
}

static inline struct expr_value expr_bool(bool value)
{
	return (struct expr_value){ .type = EXPR_BOOL, .b = value };
}

static inline struct expr_value expr_int(int64_t number)
{
	return (struct expr_value){ .type = EXPR_INT, .i = number };
}

static inline struct expr_value expr_float(double number)
{
	return (struct expr_value){ .type = EXPR_FLOAT, .f = number };
}

static inline struct expr_value expr_string(struct slice text)
{
	return (struct expr_value){ .type = EXPR_STRING, .s = text };
}
