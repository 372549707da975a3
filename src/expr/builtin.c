/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of builtins: how each is called, checked and computed. */
#include "expr/builtin_priv.h"

#include "expr/expr_priv.h"

#define LOOP(text, args, which)                                                      \
	{                                                                            \
		.name = (text), .form = FORM_LOOP, .params = (args), .loop = (which) \
	}
#define TYPED(text, function, args, type)                                               \
	{                                                                               \
		.name = (text), .form = FORM_TYPED, .fn = (function), .params = (args), \
		.result = (type)                                                        \
	}
#define KINDS(text, function, args, type, before, after)                                         \
	{                                                                                        \
		.name = (text), .form = FORM_KINDS, .fn = (function), .params = (args),          \
		.result = (type), .min_args = 1, .max_args = 1, .pre = (before), .post = (after) \
	}
#define NUMBERS(text, function)                                                       \
	{                                                                             \
		.name = (text), .form = FORM_KINDS, .fn = (function), .params = "nl", \
		.result = RESULT_NUMBER, .min_args = 1, .max_args = UINT8_MAX,        \
		.pre = "invalid argument for " text " (type ", .post = ")"            \
	}
#define REFUSED(text)                                                                \
	{                                                                            \
		.name = (text), .form = FORM_REFUSED,                                \
		.pre = "there are no dates, times and durations in expressions here" \
	}
#define BIT(text, function) TYPED(text, function, "ii", SHAPE_INT)
#define PLAIN(text, function, args, type) \
	KINDS(text, function, args, type, "invalid argument for " text " (type ", ")")

static const struct expr_builtin builtins[] = {
	LOOP("all", "ep", LOOP_ALL),
	LOOP("none", "ep", LOOP_NONE),
	LOOP("any", "ep", LOOP_ANY),
	LOOP("one", "ep", LOOP_ONE),
	LOOP("filter", "ep", LOOP_FILTER),
	LOOP("map", "ep", LOOP_MAP),
	LOOP("count", "eP", LOOP_COUNT),
	LOOP("sum", "eP", LOOP_SUM),
	LOOP("find", "ep", LOOP_FIND),
	LOOP("findIndex", "ep", LOOP_FIND_INDEX),
	LOOP("findLast", "ep", LOOP_FIND_LAST),
	LOOP("findLastIndex", "ep", LOOP_FIND_LAST_INDEX),
	LOOP("groupBy", "ep", LOOP_GROUP_BY),
	LOOP("sortBy", "epE", LOOP_SORT_BY),
	LOOP("reduce", "epE", LOOP_REDUCE),

	PLAIN("len", expr_fn_len, "slm", SHAPE_INT),
	PLAIN("abs", expr_fn_abs, "n", RESULT_ARG),
	PLAIN("ceil", expr_fn_ceil, "n", SHAPE_FLOAT),
	PLAIN("floor", expr_fn_floor, "n", SHAPE_FLOAT),
	PLAIN("round", expr_fn_round, "n", SHAPE_FLOAT),
	PLAIN("int", expr_fn_int, "ns", SHAPE_INT),
	PLAIN("float", expr_fn_float, "ns", SHAPE_FLOAT),
	TYPED("string", expr_fn_string, "a", SHAPE_STRING),

	TYPED("trim", expr_fn_trim, "s,ss", SHAPE_STRING),
	TYPED("trimPrefix", expr_fn_trim_prefix, "ss,s", SHAPE_STRING),
	TYPED("trimSuffix", expr_fn_trim_suffix, "ss,s", SHAPE_STRING),
	TYPED("upper", expr_fn_upper, "s", SHAPE_STRING),
	TYPED("lower", expr_fn_lower, "s", SHAPE_STRING),
	TYPED("split", expr_fn_split, "ss,ssi", SHAPE_STRINGS),
	TYPED("splitAfter", expr_fn_split_after, "ss,ssi", SHAPE_STRINGS),
	TYPED("replace", expr_fn_replace, "sssi,sss", SHAPE_STRING),
	TYPED("repeat", expr_fn_repeat, "si", SHAPE_STRING),
	TYPED("join", expr_fn_join, "Ss,Ls,L,Ss,S", SHAPE_STRING),
	TYPED("indexOf", expr_fn_index_of, "ss", SHAPE_INT),
	TYPED("lastIndexOf", expr_fn_last_index_of, "ss", SHAPE_INT),
	TYPED("hasPrefix", expr_fn_has_prefix, "ss", SHAPE_BOOL),
	TYPED("hasSuffix", expr_fn_has_suffix, "ss", SHAPE_BOOL),

	NUMBERS("max", expr_fn_max),
	NUMBERS("min", expr_fn_min),
	NUMBERS("mean", expr_fn_mean),
	NUMBERS("median", expr_fn_median),

	TYPED("toJSON", expr_fn_to_json, "a", SHAPE_STRING),
	TYPED("fromJSON", expr_fn_from_json, "s", SHAPE_ANY),
	TYPED("toBase64", expr_fn_to_base64, "s", SHAPE_STRING),
	TYPED("fromBase64", expr_fn_from_base64, "s", SHAPE_STRING),

	REFUSED("now"),
	REFUSED("duration"),
	REFUSED("date"),
	REFUSED("timezone"),

	KINDS("first", expr_fn_first, "l", RESULT_ELEM, "cannot get first element from ", ""),
	KINDS("last", expr_fn_last, "l", RESULT_ELEM, "cannot get last element from ", ""),
	{ .name = "get", .form = FORM_GET, .fn = expr_fn_get },
	{ .name = "take",
	  .form = FORM_KINDS,
	  .fn = expr_fn_take,
	  .params = "l,i",
	  .result = RESULT_ARG,
	  .min_args = 2,
	  .max_args = 2,
	  .pre = "cannot take from ",
	  .post = "",
	  .pre_2 = "cannot take ",
	  .post_2 = " elements" },
	KINDS("keys", expr_fn_keys, "m", SHAPE_LIST, "cannot get keys from ", ""),
	KINDS("values", expr_fn_values, "m", SHAPE_LIST, "cannot get values from ", ""),
	KINDS("toPairs", expr_fn_to_pairs, "m", SHAPE_LIST, "cannot transform ", " to pairs"),
	KINDS("fromPairs", expr_fn_from_pairs, "l", SHAPE_ANYMAP, "cannot transform ",
	      " from pairs"),
	KINDS("reverse", expr_fn_reverse, "l", SHAPE_LIST, "cannot reverse ", ""),
	KINDS("uniq", expr_fn_uniq, "l", SHAPE_LIST, "cannot uniq ", ""),
	{ .name = "concat",
	  .form = FORM_KINDS,
	  .fn = expr_fn_concat,
	  .params = "l",
	  .result = SHAPE_LIST,
	  .min_args = 1,
	  .max_args = UINT8_MAX,
	  .pre = "cannot concat ",
	  .post = "" },
	KINDS("flatten", expr_fn_flatten, "l", SHAPE_LIST, "cannot flatten ", ""),
	TYPED("sort", expr_fn_sort, "Ls,Is,Fs,Ss,L,F,S,I", SHAPE_LIST),

	BIT("bitand", expr_fn_bitand),
	BIT("bitor", expr_fn_bitor),
	BIT("bitxor", expr_fn_bitxor),
	BIT("bitnand", expr_fn_bitnand),
	BIT("bitshl", expr_fn_bitshl),
	BIT("bitshr", expr_fn_bitshr),
	BIT("bitushr", expr_fn_bitushr),
	TYPED("bitnot", expr_fn_bitnot, "i", SHAPE_INT),
};

const struct expr_builtin *expr_find_builtin(struct slice name)
{
	for (size_t i = 0; i < ARRAY_LEN(builtins); i++) {
		if (slice_is(name, builtins[i].name))
			return &builtins[i];
	}
	return NULL;
}
