/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to the expression language: tokens, nodes, static types, the running evaluation and the
 * table of builtins.
 *
 *	text --lex--> tokens --parse--> nodes --check--> typed nodes --fold--> constants folded
 *
 * Nodes live in the expression's own arena. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/slice.h"
#include "base/srcpos.h"
#include "expr/expr.h"

struct regex;

enum tok_kind { TOK_EOF, TOK_IDENT, TOK_NUMBER, TOK_STRING, TOK_BYTES, TOK_OP, TOK_BRACKET };

struct tok {
	enum tok_kind kind;
	uint32_t at;	  /* byte offset, for errors */
	struct slice val; /* text; of strings what they mean */
};

struct expr_lexer {
	struct slice text;
	size_t pos;
	struct arena *arena; /* unescaped strings */
	bool after_hash;     /* the last token was '#': a name right behind it belongs to it */
	struct srcerr *err;
	struct srcpos base;
};

enum op {
	OP_PIPE,
	OP_OR,
	OP_AND,
	OP_EQ,
	OP_NE,
	OP_LT,
	OP_GT,
	OP_GE,
	OP_LE,
	OP_IN,
	OP_MATCHES,
	OP_CONTAINS,
	OP_STARTS,
	OP_ENDS,
	OP_RANGE,
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_DIV,
	OP_MOD,
	OP_POW,
	OP_COALESCE,
	OP_NOT,
	OP_NEG,
	OP_PLUS,
};

enum node_kind {
	NODE_CONST,	/* val */
	NODE_IDENT,	/* name; check turns it into LOCAL or VAR */
	NODE_LOCAL,	/* index of a let slot */
	NODE_VAR,	/* index of an environment variable */
	NODE_UNARY,	/* op a */
	NODE_BINARY,	/* a op b */
	NODE_MEMBER,	/* a[b], a.b; optional: a?.b */
	NODE_CHAIN,	/* a, nil when an optional member inside it met nil */
	NODE_SLICE,	/* a[b:c], b and c may be NULL */
	NODE_CALL,	/* name(args), or a(args) with a MEMBER */
	NODE_BUILTIN,	/* builtin(args) */
	NODE_PREDICATE, /* a, evaluated for each element */
	NODE_ELEM,	/* # */
	NODE_INDEX,	/* #index */
	NODE_ACC,	/* #acc */
	NODE_POINTER,	/* another #name: an error */
	NODE_LET,	/* let index = a; b */
	NODE_SEQ,	/* args, the last is the value */
	NODE_COND,	/* a ? b : c */
	NODE_ARRAY,	/* args */
	NODE_MAP,	/* args: key, value, key, value ... */
};
enum { NODE_KINDS = NODE_MAP + 1 };

/* Static types. ANY is a Go interface, UNKNOWN no type at all: expr-lang tells them apart when it
 * unifies the two arms of a condition. */
enum shape {
	SHAPE_UNKNOWN,
	SHAPE_ANY,
	SHAPE_NIL,
	SHAPE_BOOL,
	SHAPE_INT,
	SHAPE_FLOAT,
	SHAPE_STRING,
	SHAPE_BYTES,
	SHAPE_LIST,    /* elem says of what */
	SHAPE_STRINGS, /* Go []string */
	SHAPE_MAP,     /* Go map[string]any */
	SHAPE_ANYMAP,  /* Go map[any]any */
	SHAPE_GROUPS,  /* Go map[any][]any */
	SHAPE_INTS,    /* only the name of a parameter type: Go []int */
	SHAPE_FLOATS,  /* the same: Go []float64 */
};
enum { SHAPE_COUNT = SHAPE_FLOATS + 1 };

struct stype {
	enum shape shape;
	const struct stype *elem; /* LIST; NULL: ANY */
};

struct node {
	enum node_kind kind;
	enum op op;
	uint32_t at; /* byte offset */
	uint16_t height;
	bool optional; /* MEMBER: ?. */
	bool strict;   /* == and !=: both sides are statically int, or string */
	bool checked;  /* nodes may have two parents: 1 < x < 5, a ?: b */
	bool folded;
	bool calls; /* some function of the environment is called below */
	uint32_t n_args;
	uint32_t index; /* LOCAL, VAR, LET; count: stop at this many (0: never) */
	struct stype type;
	struct node *a, *b, *c;
	struct node **args;
	const struct expr_builtin *builtin;
	const struct expr_func *func;
	struct regex *re;
	union {
		struct slice name;
		struct expr_value val;
	};
};

/* A compiled pattern, to be freed with the expression. */
struct expr_pattern {
	struct expr_pattern *next;
	struct regex *re;
};

struct expr {
	struct arena arena;
	struct node *root;
	struct slice text;
	struct expr_pattern *patterns;
	unsigned max_groups;
	unsigned n_slots; /* let variables alive at once */
};

struct parser {
	struct expr_lexer lx;
	struct expr *e;
	const struct expr_env *env;
	struct tok cur, stash;
	bool has_stash;
	unsigned nesting;
	unsigned predicates; /* predicates around the current place */
	unsigned n_nodes;
};

/* The predicate loop that is running. */
struct scope {
	struct expr_value list;
	size_t index;
	struct expr_value acc; /* reduce; first the third argument of a call */
};

struct ev {
	const struct expr *e;
	const struct expr_run *run;
	struct expr_value *slots;
	struct scope *scope;
	const struct node *err_node; /* innermost node that failed */
	uint32_t steps;
	uint32_t memory;
	bool stop; /* an optional member met nil: unwind to its CHAIN */
	char *errtext;
	size_t n_errtext;
};

static inline bool expr_is_list(const struct expr_value *value)
{
	return value->type == EXPR_LIST || value->type == EXPR_BYTES;
}

/* nil, or a list that Go would not have made at all: a missing group, concat() of nothing. */
static inline bool expr_is_nil(const struct expr_value *value)
{
	return value->type == EXPR_NIL ||
	       (value->type == EXPR_LIST && !value->range && value->list.v == NULL);
}

static inline struct expr_value expr_nil_list(void)
{
	return (struct expr_value){ .type = EXPR_LIST, .depth = 1 };
}

static inline bool expr_is_map(const struct expr_value *value)
{
	return value->type == EXPR_MAP || value->type == EXPR_ANYMAP;
}

static inline bool expr_is_number(const struct expr_value *value)
{
	return value->type == EXPR_INT || value->type == EXPR_FLOAT;
}

static inline double expr_to_float(const struct expr_value *value)
{
	return value->type == EXPR_INT ? (double)value->i : value->f;
}

/* A number as an integer, floats cut; fails for other types. */
MUST_CHECK int expr_to_int(struct ev *ev, const struct expr_value *value, int64_t *ret);
/* x ** y with the last digits that Go's math.Pow gives. */
double expr_pow(double left, double right);

/* Text written up to a limit; `p` NULL only measures. */
struct out {
	char *p;
	size_t n;
	size_t max;
	bool full;
};

enum { EXPR_FLOAT_BYTES = 352 };
typedef int (*expr_writer)(struct ev *ev, struct out *out, const struct expr_value *value);

enum builtin_form {
	FORM_LOOP,    /* has a predicate */
	FORM_TYPED,   /* overloads by parameter types */
	FORM_KINDS,   /* one rule for all arguments */
	FORM_GET,     /* get(): checked like an index */
	FORM_REFUSED, /* known, not offered */
};

enum loop {
	LOOP_ALL,
	LOOP_NONE,
	LOOP_ANY,
	LOOP_ONE,
	LOOP_FILTER,
	LOOP_MAP,
	LOOP_COUNT,
	LOOP_SUM,
	LOOP_FIND,
	LOOP_FIND_INDEX,
	LOOP_FIND_LAST,
	LOOP_FIND_LAST_INDEX,
	LOOP_GROUP_BY,
	LOOP_SORT_BY,
	LOOP_REDUCE,
};

/* Result types of FORM_KINDS beside the plain shapes. */
enum { RESULT_ARG = 100, RESULT_ELEM, RESULT_NUMBER };

typedef int (*expr_builtin_fn)(struct ev *ev, const struct expr_value *value, unsigned count,
			       struct expr_value *ret);

struct expr_builtin {
	const char *name;
	enum builtin_form form;
	expr_builtin_fn fn;
	/* LOOP: one letter per argument, e expression, p predicate, upper case when optional.
	 * TYPED: parameter lists, one letter each: s i a, L []any, S []string, I []int, F
	 * []float64. KINDS: accepted arguments: n number, s string, l list, m map. */
	const char *params;
	int result;
	uint8_t min_args, max_args; /* KINDS; 255: any number */
	enum loop loop;
	const char *pre, *post;	    /* KINDS: the error around the type's name */
	const char *pre_2, *post_2; /* the same for the second argument, when not as the first */
};
