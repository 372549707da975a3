/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions that CEL expressions may call, one row each. */
#include "cel/funcs_priv.h"

#include <string.h>

#include "base/text/utf8.h"

static struct cel_value call_size(struct cel_run *run, const struct cel_node *node,
				  const struct cel_value *arg)
{
	if (arg->type == CEL_LIST || arg->type == CEL_MAP)
		return cel_int((int64_t)cel_items_n(arg));
	if (arg->type != CEL_STRING)
		return cel_errorf(run, "no such overload: %s", node->function->name);
	cel_spend(run, cel_text_cost(arg->u.text.n));
	return cel_int((int64_t)utf8_length(arg->u.text));
}

static bool are_strings(struct cel_run *run, const struct cel_value *arg)
{
	if (arg[0].type != CEL_STRING || arg[1].type != CEL_STRING)
		return false;
	cel_spend(run, cel_text_cost(arg[0].u.text.n));
	return true;
}

static struct cel_value call_starts_with(struct cel_run *run, const struct cel_node *node,
					 const struct cel_value *arg)
{
	(void)node;
	return are_strings(run, arg) ? cel_bool(slice_starts(arg[0].u.text, arg[1].u.text))
				     : cel_no_overload();
}

static struct cel_value call_ends_with(struct cel_run *run, const struct cel_node *node,
				       const struct cel_value *arg)
{
	(void)node;
	return are_strings(run, arg) ? cel_bool(slice_ends(arg[0].u.text, arg[1].u.text))
				     : cel_no_overload();
}

static struct cel_value call_contains(struct cel_run *run, const struct cel_node *node,
				      const struct cel_value *arg)
{
	(void)node;
	if (!are_strings(run, arg))
		return cel_no_overload();
	struct slice s = arg[0].u.text, part = arg[1].u.text;
	return cel_bool(part.n == 0 || memmem(s.p, s.n, part.p, part.n) != NULL);
}

static struct cel_value call_matches(struct cel_run *run, const struct cel_node *node,
				     const struct cel_value *arg)
{
	if (!are_strings(run, arg))
		return cel_no_overload();
	/* The server's estimate: a quarter of the pattern's length for each tenth of the text. */
	cel_spend(run, cel_text_cost(arg[0].u.text.n) * (arg[1].u.text.n / 4 + 1));
	return cel_bool(regex_match(node->pattern, run->scratch, arg[0].u.text));
}

static struct cel_value call_has_value(struct cel_run *run, const struct cel_node *node,
				       const struct cel_value *arg)
{
	(void)run, (void)node;
	return arg->type == CEL_OPTIONAL ? cel_bool(arg->u.inner != NULL) : cel_no_overload();
}

static struct cel_value call_value(struct cel_run *run, const struct cel_node *node,
				   const struct cel_value *arg)
{
	(void)run, (void)node;
	if (arg->type != CEL_OPTIONAL)
		return cel_no_overload();
	return arg->u.inner != NULL ? *arg->u.inner : cel_error("optional.none() dereference");
}

static struct cel_value call_or_value(struct cel_run *run, const struct cel_node *node,
				      const struct cel_value *arg)
{
	(void)run, (void)node;
	if (arg->type != CEL_OPTIONAL)
		return cel_no_overload();
	return arg->u.inner != NULL ? *arg->u.inner : arg[1];
}

static const struct cel_function functions[] = {
	{ "size", true, true, 1, call_size },
	{ "startsWith", true, false, 2, call_starts_with },
	{ "endsWith", true, false, 2, call_ends_with },
	{ "contains", true, false, 2, call_contains },
	{ "matches", true, true, 2, call_matches },
	{ "hasValue", true, false, 1, call_has_value },
	{ "value", true, false, 1, call_value },
	{ "orValue", true, false, 2, call_or_value },
};

const struct cel_function *cel_funcs_find(struct slice name, bool method, size_t n_args)
{
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		const struct cel_function *f = &functions[i];
		if (slice_is(name, f->name) && (method ? f->method : f->global) &&
		    f->n_args == n_args)
			return f;
	}
	return NULL;
}
