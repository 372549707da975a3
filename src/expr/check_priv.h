/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to the type checker: what it carries along, and questions about static types. */
#pragma once

#include "expr/expr_priv.h"
#include "expr/lex_priv.h"

/* A let variable in sight. */
struct let_scope {
	const struct let_scope *up;
	struct slice name;
	struct stype type;
	uint32_t index;
};

/* The predicate around the current node. */
struct pred_scope {
	const struct pred_scope *up;
	struct stype collection;
	bool has_index, has_acc;
};

struct checker {
	struct parser *p;
	const struct let_scope *lets;
	const struct pred_scope *pred;
};

/* Types `node`; ERR_PARSE with the error set. */
MUST_CHECK int expr_check_node(struct checker *checker, struct node *node);
MUST_CHECK int expr_check_args(struct checker *checker, const struct node *node);

static inline struct stype shape_type(enum shape shape)
{
	return (struct stype){ .shape = shape };
}

static inline bool is_unknown(struct stype type)
{
	return type.shape == SHAPE_UNKNOWN || type.shape == SHAPE_ANY;
}

static inline bool is_number(struct stype type)
{
	return type.shape == SHAPE_INT || type.shape == SHAPE_FLOAT;
}

static inline bool is_array(struct stype type)
{
	return type.shape == SHAPE_LIST || type.shape == SHAPE_STRINGS || type.shape == SHAPE_BYTES;
}

static inline bool is_map(struct stype type)
{
	return type.shape == SHAPE_MAP || type.shape == SHAPE_ANYMAP || type.shape == SHAPE_GROUPS;
}

bool expr_check_assignable(struct stype from, struct stype to);
struct stype expr_check_elem(struct stype type);
struct stype expr_check_array_of(struct checker *checker, struct stype elem);

/* As Go writes the type. */
const char *expr_shape_name(enum shape shape);
static inline const char *type_name(struct stype type)
{
	return expr_shape_name(type.shape);
}

#define CHECK_ERROR(c, node, ...) expr_error_at(&(c)->p->lx, (node)->at, __VA_ARGS__)

/* Types all nodes and resolves names. */
MUST_CHECK int expr_check(struct parser *parser, struct node *node);

const struct expr_func *expr_find_func(const struct expr_env *env, struct slice name);
const struct expr_var *expr_find_var(const struct expr_env *env, struct slice name);
