/* Private to the type checker: what it carries along, and questions about static types. */
#pragma once

#include "expr/expr_priv.h"

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

/* Types `n`; ERR_PARSE with the error set. */
MUST_CHECK int expr_check_node(struct checker *c, struct node *n);
MUST_CHECK int expr_check_args(struct checker *c, const struct node *n);
MUST_CHECK int expr_check_builtin(struct checker *c, struct node *n);
/* Checks the arguments of `n` against a parameter list, from left to right. 1 when one does not
 * fit, negative when one is wrong in itself; the error is set in both cases. */
MUST_CHECK int expr_check_params(struct checker *c, const struct node *n, struct slice name,
				 const enum shape *params, unsigned n_params);

static inline struct stype of(enum shape s)
{
	return (struct stype){ .shape = s };
}

static inline bool is_unknown(struct stype t)
{
	return t.shape == SHAPE_UNKNOWN || t.shape == SHAPE_ANY;
}

static inline bool is_number(struct stype t)
{
	return t.shape == SHAPE_INT || t.shape == SHAPE_FLOAT;
}

static inline bool is_array(struct stype t)
{
	return t.shape == SHAPE_LIST || t.shape == SHAPE_STRINGS || t.shape == SHAPE_BYTES;
}

static inline bool is_map(struct stype t)
{
	return t.shape == SHAPE_MAP || t.shape == SHAPE_ANYMAP || t.shape == SHAPE_GROUPS;
}

bool expr_check_assignable(struct stype from, struct stype to);
struct stype expr_check_elem(struct stype t);
struct stype expr_check_array_of(struct checker *c, struct stype elem);

static inline const char *type_name(struct stype t)
{
	return expr_shape_name(t.shape);
}

#define CHECK_ERROR(c, node, ...) expr_error_at(&(c)->p->lx, (node)->at, __VA_ARGS__)
