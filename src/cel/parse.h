/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expressions from text: parsed and type-checked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"
#include "base/vec.h"
#include "cel/type.h"

struct cel_node;
struct regex;

enum {
	CEL_BYTES_MAX = 8192,
	CEL_NODES_MAX = 2000,
	CEL_DEPTH_MAX = 100,
};

struct cel_expr {
	struct cel_node *root;
	bool uses_old;		      /* it refers to oldSelf */
	VEC(struct regex *) patterns; /* owned */
};

/* What an expression may refer to, and what its result must be. */
struct cel_env {
	const struct cel_type *self; /* oldSelf has the same type */
	bool resource;		     /* self is a whole object: it has metadata.name and the like */
	bool optional_old;	     /* oldSelf is an optional */
	bool text;		     /* the result is a string, not a bool */
};

/* The expression and its nodes are allocated from the arena, which must outlive them. ERR_PARSE,
 * ERR_UNSUPPORTED, ERR_LIMIT, ERR_TYPE; `err` gets a sentence. */
MUST_CHECK int cel_parse(struct slice text, const struct cel_env *env, struct arena *arena,
			 struct cel_expr **ret, struct err_text err);
/* Frees what does not lie in the arena; `expr` may be NULL. */
void cel_expr_done(struct cel_expr *expr);
