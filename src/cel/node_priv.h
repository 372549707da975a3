/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nodes of a parsed expression. They lie in the arena that the parser was given. */
#pragma once

#include "base/regex/regex.h"
#include "cel/value.h"

enum { CEL_ARGS_MAX = 3 };

enum cel_op {
	CEL_OP_LITERAL,
	CEL_OP_SLOT,
	CEL_OP_SELECT, /* args[0].name */
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
	CEL_OP_LOOP, /* over args[0]; args[1] is evaluated for each item; args[2]: map's third */
};

enum cel_loop { CEL_ALL, CEL_EXISTS, CEL_EXISTS_ONE, CEL_FILTER, CEL_TRANSFORM };

struct cel_function;

struct cel_node {
	enum cel_op op;
	struct cel_node **args;
	size_t n_args;
	struct cel_value literal;
	const char *name; /* SELECT, HAS: the field's name as the document has it */
	unsigned slot;	  /* SLOT, LOOP */
	enum cel_loop loop;
	const struct cel_function *function;
	struct regex *pattern; /* of matches() */
};
