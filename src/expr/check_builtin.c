/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Type check of calls: parameter lists, the builtins' own rules, and predicates. */
#include "expr/check_builtin_priv.h"

#include "expr/check_priv.h"

#include <string.h>

#include "base/err.h"

static void bad_argument(struct checker *checker, const struct node *arg, enum shape want,
			 struct slice name)
{
	if (arg->type.shape == SHAPE_NIL)
		CHECK_ERROR(checker, arg, "cannot use nil as argument (type %s) to call %.*s",
			    expr_shape_name(want), (int)name.n, name.p);
	else
		CHECK_ERROR(checker, arg, "cannot use %s as argument (type %s) to call %.*s",
			    type_name(arg->type), expr_shape_name(want), (int)name.n, name.p);
}

static bool fits_param(struct stype arg, enum shape want)
{
	if (want == SHAPE_ANY || is_unknown(arg))
		return true;
	if (want == SHAPE_FLOAT && arg.shape == SHAPE_INT)
		return true;
	return arg.shape != SHAPE_NIL && expr_check_assignable(arg, shape_type(want));
}

int expr_check_params(struct checker *checker, const struct node *node, struct slice name,
		      const enum shape *params, unsigned n_params)
{
	int r = node->n_args != n_params ? expr_check_args(checker, node) : 0;
	if (r < 0)
		return r;
	if (node->n_args != n_params) {
		CHECK_ERROR(checker, node, "%s arguments to call %.*s",
			    node->n_args > n_params ? "too many" : "not enough", (int)name.n,
			    name.p);
		return 1;
	}
	for (unsigned i = 0; i < n_params; i++) {
		r = expr_check_node(checker, node->args[i]);
		if (r < 0)
			return r;
		if (!fits_param(node->args[i]->type, params[i])) {
			bad_argument(checker, node->args[i], params[i], name);
			return 1;
		}
	}
	return 0;
}

static enum shape shape_of_letter(char letter)
{
	static const struct {
		char letter;
		enum shape shape;
	} rows[] = { { 's', SHAPE_STRING }, { 'i', SHAPE_INT },	 { 'a', SHAPE_ANY },
		     { 'L', SHAPE_LIST },   { 'I', SHAPE_INTS }, { 'F', SHAPE_FLOATS },
		     { 'S', SHAPE_STRINGS } };
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].letter == letter)
			return rows[i].shape;
	}
	return SHAPE_ANY;
}

/* The overloads are tried in turn; when none fits, the last one's error stands. */
static int check_typed(struct checker *checker, struct node *node)
{
	const struct expr_builtin *b = node->builtin;
	struct slice rest = slice_of(b->params);
	int r = 0;
	node->type = shape_type((enum shape)b->result);
	do {
		struct slice list = slice_cut(&rest, ',');
		enum shape params[EXPR_FUNC_ARGS_MAX];
		for (size_t i = 0; i < list.n; i++)
			params[i] = shape_of_letter(list.p[i]);
		r = expr_check_params(checker, node, slice_of(b->name), params, (unsigned)list.n);
	} while (r > 0 && rest.p != NULL);
	return r > 0 ? ERR_PARSE : r;
}

static bool kind_fits(struct stype type, struct slice letters)
{
	if (is_unknown(type))
		return true;
	char letter = is_number(type) ? 'n' : is_array(type) ? 'l' : is_map(type) ? 'm' : '\0';
	if (type.shape == SHAPE_STRING)
		letter = 's';
	return (letter != '\0' && slice_find(letters, letter) >= 0) ||
	       (type.shape == SHAPE_INT && slice_find(letters, 'i') >= 0);
}

static int check_count(struct checker *checker, const struct node *node)
{
	const struct expr_builtin *b = node->builtin;
	if (node->n_args >= b->min_args &&
	    (node->n_args <= b->max_args || b->max_args == UINT8_MAX))
		return 0;
	if (b->result == RESULT_NUMBER)
		return CHECK_ERROR(checker, node, "not enough arguments to call %s", b->name);
	return CHECK_ERROR(checker, node, "invalid number of arguments (expected %s%u, got %u)",
			   b->max_args > b->min_args ? "at least " : "", b->min_args, node->n_args);
}

static struct stype result_type(const struct node *node)
{
	int result = node->builtin->result;
	struct stype arg = shape_type(node->args[0]->type.shape);
	if (result == RESULT_ARG || result == RESULT_NUMBER)
		return is_unknown(arg) ? shape_type(SHAPE_ANY) : arg;
	if (result == RESULT_ELEM)
		return expr_check_elem(arg);
	return shape_type((enum shape)result);
}

static int check_kinds(struct checker *checker, struct node *node)
{
	const struct expr_builtin *b = node->builtin;
	struct slice rest = slice_of(b->params), letters = { NULL, 0 };
	int r = check_count(checker, node);
	if (r < 0)
		return r;
	node->type = result_type(node);
	for (uint32_t i = 0; i < node->n_args; i++) {
		struct stype t = node->args[i]->type;
		if (rest.p != NULL)
			letters = slice_cut(&rest, ',');
		/* max(list, 'x') is not looked at further: the list decides at run time. */
		if (b->result == RESULT_NUMBER && (is_unknown(t) || is_array(t))) {
			node->type = shape_type(SHAPE_ANY);
			return 0;
		}
		const char *name = t.shape == SHAPE_NIL ? "nil" : type_name(t);
		if (kind_fits(t, letters))
			continue;
		if (i == 1 && b->pre_2 != NULL)
			return CHECK_ERROR(checker, node, "%s%s%s", b->pre_2, name, b->post_2);
		return CHECK_ERROR(checker, node, "%s%s%s", b->pre, name, b->post);
	}
	return 0;
}

static int check_get(struct checker *checker, struct node *node)
{
	if (node->n_args != 2)
		return CHECK_ERROR(checker, node,
				   "invalid number of arguments (expected 2, got %u)",
				   node->n_args);
	struct stype base = node->args[0]->type, key = node->args[1]->type;
	node->type = shape_type(SHAPE_UNKNOWN);
	if (is_unknown(base))
		return 0;
	if (is_array(base)) {
		if (key.shape != SHAPE_INT && !is_unknown(key))
			return CHECK_ERROR(checker, node->args[1], "non-integer slice index %s",
					   type_name(key));
	} else if (is_map(base)) {
		struct stype want = shape_type(base.shape == SHAPE_MAP ? SHAPE_STRING : SHAPE_ANY);
		if (!is_unknown(key) && !expr_check_assignable(key, want))
			return CHECK_ERROR(checker, node->args[1],
					   "cannot use %s to get an element from %s",
					   type_name(key), type_name(base));
	} else {
		return CHECK_ERROR(checker, node->args[0], "type %s does not support indexing",
				   type_name(base));
	}
	node->type = expr_check_elem(base);
	return 0;
}

/* --- predicates --- */

/* What a loop gives, its predicate being checked. */
static struct stype loop_type(struct checker *checker, const struct node *node, struct stype coll)
{
	struct stype out = node->n_args > 1 ? node->args[1]->type : shape_type(SHAPE_UNKNOWN);
	struct stype elem = is_unknown(coll) ? shape_type(SHAPE_UNKNOWN) : expr_check_elem(coll);
	switch (node->builtin->loop) {
	case LOOP_ALL:
	case LOOP_NONE:
	case LOOP_ANY:
	case LOOP_ONE:
		return shape_type(SHAPE_BOOL);
	case LOOP_FILTER:
		return is_unknown(coll) ? shape_type(SHAPE_LIST)
					: expr_check_array_of(checker, elem);
	case LOOP_MAP:
		return expr_check_array_of(checker, out);
	case LOOP_COUNT:
	case LOOP_FIND_INDEX:
	case LOOP_FIND_LAST_INDEX:
		return shape_type(SHAPE_INT);
	case LOOP_SUM:
		if (node->n_args > 1)
			return shape_type(is_unknown(out) ? SHAPE_ANY : out.shape);
		return elem;
	case LOOP_FIND:
	case LOOP_FIND_LAST:
		return elem;
	case LOOP_GROUP_BY:
		return shape_type(SHAPE_GROUPS);
	case LOOP_SORT_BY:
		return coll;
	case LOOP_REDUCE:
		return out;
	}
	return shape_type(SHAPE_UNKNOWN);
}

static bool wants_bool(enum loop loop)
{
	return loop != LOOP_MAP && loop != LOOP_SUM && loop != LOOP_GROUP_BY &&
	       loop != LOOP_SORT_BY && loop != LOOP_REDUCE;
}

static int check_predicate(struct checker *checker, struct node *node, struct stype coll)
{
	enum loop loop = node->builtin->loop;
	struct pred_scope s = { .up = checker->pred,
				.collection = coll,
				.has_index = loop == LOOP_MAP || loop == LOOP_REDUCE,
				.has_acc = loop == LOOP_REDUCE };
	struct node *pred = node->args[1];
	checker->pred = &s;
	int r = expr_check_node(checker, pred);
	checker->pred = s.up;
	if (r < 0)
		return r;
	if (pred->type.shape == SHAPE_NIL)
		return CHECK_ERROR(checker, pred,
				   "predicate should has %s input and one output param",
				   loop == LOOP_REDUCE ? "two" : "one");
	if (wants_bool(loop) && pred->type.shape != SHAPE_BOOL && !is_unknown(pred->type))
		return CHECK_ERROR(checker, pred, "predicate should return boolean (got %s)",
				   type_name(pred->type));
	return 0;
}

static int check_loop(struct checker *checker, struct node *node)
{
	int r = expr_check_node(checker, node->args[0]);
	if (r < 0)
		return r;
	struct stype coll = node->args[0]->type;
	if (!is_array(coll) && !is_unknown(coll))
		return CHECK_ERROR(checker, node->args[0], "builtin %s takes only array (got %s)",
				   node->builtin->name, type_name(coll));
	if (node->n_args > 1)
		r = check_predicate(checker, node, coll);
	if (r == 0 && node->n_args > 2)
		r = expr_check_node(checker, node->args[2]);
	if (r < 0)
		return r;
	if (node->n_args > 2 && node->builtin->loop == LOOP_SORT_BY &&
	    node->args[2]->type.shape != SHAPE_STRING && !is_unknown(node->args[2]->type))
		return CHECK_ERROR(checker, node->args[2],
				   "sortBy order argument must be a string (got %s)",
				   type_name(node->args[2]->type));
	node->type = loop_type(checker, node, coll);
	return 0;
}

int expr_check_builtin(struct checker *checker, struct node *node)
{
	static int (*const forms[])(struct checker *, struct node *) = {
		[FORM_TYPED] = check_typed,
		[FORM_KINDS] = check_kinds,
		[FORM_GET] = check_get,
	};
	const struct expr_builtin *b = node->builtin;
	if (b->form == FORM_REFUSED)
		return CHECK_ERROR(checker, node, "builtin %s is not supported: %s", b->name,
				   b->pre);
	if (b->form == FORM_LOOP)
		return check_loop(checker, node);
	int r = b->form != FORM_TYPED ? expr_check_args(checker, node) : 0;
	return r == 0 ? forms[b->form](checker, node) : r;
}
