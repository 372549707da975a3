/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compiles the tree of a pattern for the linear matcher. Code is generated from the end of the
 * pattern to its beginning, so that each piece knows where it goes on. Loops are laid out as Go's
 * compiler does it, since that decides what an empty round of a loop means. */
#include "base/regex/program_priv.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/regex/linear_priv.h"

enum { NOWHERE = 0 }; /* instruction 0 is the match, which nothing forks to before it is known */

struct compiler {
	const struct regex_tree *tree;
	VEC(struct regex_inst) code;
	bool too_large;
};

static uint32_t compile_node(struct compiler *compiler, const struct regex_node *node,
			     uint32_t next);

static uint32_t emit_inst(struct compiler *compiler, enum regex_op op, uint32_t next, uint32_t arg)
{
	if (compiler->code.n >= REGEX_PROGRAM_MAX) {
		compiler->too_large = true;
		return NOWHERE;
	}
	vec_push(&compiler->code, (struct regex_inst){ op, next, arg });
	return (uint32_t)compiler->code.n - 1;
}

static const struct regex_node *get_node(const struct compiler *compiler, uint32_t index)
{
	return &compiler->tree->nodes.v[index];
}

/* A choice between the body and what follows it; lazy loops prefer to go on. */
static uint32_t emit_choice(struct compiler *compiler, const struct regex_node *repeat,
			    uint32_t body, uint32_t next)
{
	return repeat->lazy ? emit_inst(compiler, REGEX_OP_FORK, next, body)
			    : emit_inst(compiler, REGEX_OP_FORK, body, next);
}

static uint32_t compile_branch(struct compiler *compiler, const struct regex_node *branch,
			       uint32_t next)
{
	for (uint32_t item = branch->newest_child; item != REGEX_NO_NODE && !compiler->too_large;
	     item = get_node(compiler, item)->older_sibling)
		next = compile_node(compiler, get_node(compiler, item), next);
	return next;
}

static uint32_t compile_group(struct compiler *compiler, const struct regex_node *group,
			      uint32_t next)
{
	uint32_t capture = group->value;
	if (capture != REGEX_NO_CAPTURE)
		next = emit_inst(compiler, REGEX_OP_SAVE, next, 2 * capture + 1);
	uint32_t last = group->newest_child, entry = NOWHERE;
	for (uint32_t i = last; i != REGEX_NO_NODE; i = get_node(compiler, i)->older_sibling) {
		uint32_t branch = compile_branch(compiler, get_node(compiler, i), next);
		entry = i == last ? branch : emit_inst(compiler, REGEX_OP_FORK, branch, entry);
	}
	return capture != REGEX_NO_CAPTURE ? emit_inst(compiler, REGEX_OP_SAVE, entry, 2 * capture)
					   : entry;
}

/* One round or more. `ret_choice` is where a round ends: go round again, or on. */
static uint32_t compile_loop(struct compiler *compiler, const struct regex_node *repeat,
			     uint32_t next, uint32_t *ret_choice)
{
	uint32_t choice = emit_choice(compiler, repeat, NOWHERE, next);
	uint32_t body = compile_node(compiler, get_node(compiler, repeat->newest_child), choice);
	struct regex_inst *inst = &compiler->code.v[choice];
	if (repeat->lazy)
		inst->arg = body;
	else
		inst->next = body;
	*ret_choice = choice;
	return body;
}

static uint32_t compile_repeat(struct compiler *compiler, const struct regex_node *repeat,
			       uint32_t next)
{
	const struct regex_node *body = get_node(compiler, repeat->newest_child);
	int copies = repeat->min;
	uint32_t entry = next, choice;
	if (repeat->max < 0) {
		entry = compile_loop(compiler, repeat, next, &choice);
		copies--;
	}
	/* x* is a loop entered at its choice; where x can be empty, it is (x+)?. */
	if (repeat->max < 0 && repeat->min == 0)
		return body->nullable ? emit_choice(compiler, repeat, entry, next) : choice;
	/* x{0,3} is (x(x(x)?)?)?. */
	for (int i = repeat->min; i < repeat->max && !compiler->too_large; i++)
		entry = emit_choice(compiler, repeat, compile_node(compiler, body, entry), next);
	for (; copies > 0 && !compiler->too_large; copies--)
		entry = compile_node(compiler, body, entry);
	return entry;
}

static uint32_t compile_node(struct compiler *compiler, const struct regex_node *node,
			     uint32_t next)
{
	switch ((enum regex_node_kind)node->kind) {
	case REGEX_NODE_GROUP:
		return compile_group(compiler, node, next);
	case REGEX_NODE_BRANCH:
		return compile_branch(compiler, node, next);
	case REGEX_NODE_REPEAT:
		return compile_repeat(compiler, node, next);
	case REGEX_NODE_CHAR:
		return emit_inst(compiler, REGEX_OP_CHAR, next, node->value);
	case REGEX_NODE_CLASS:
		return emit_inst(compiler, REGEX_OP_CLASS, next, node->value);
	case REGEX_NODE_ASSERT:
		return emit_inst(compiler, REGEX_OP_ASSERT, next, node->value);
	}
	return next;
}

static uint32_t count_threads(const struct regex_program *program)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < program->n_inst; i++) {
		enum regex_op op = program->inst[i].op;
		n += op == REGEX_OP_MATCH || op == REGEX_OP_CHAR || op == REGEX_OP_CLASS;
	}
	return n;
}

struct regex_program *regex_program_new(const struct regex_tree *tree, unsigned n_groups)
{
	struct compiler compiler = { .tree = tree };
	struct regex_program *program = xcalloc(1, sizeof(*program));
	uint32_t match = emit_inst(&compiler, REGEX_OP_MATCH, NOWHERE, 0);
	program->start = compile_node(&compiler, &tree->nodes.v[0], match);
	program->inst = compiler.code.v;
	program->n_inst = (uint32_t)compiler.code.n;
	program->n_groups = n_groups;
	program->n_threads = count_threads(program);
	const struct regex_inst *first = &program->inst[program->start];
	program->anchored = first->op == REGEX_OP_ASSERT && first->arg == REGEX_AT_BEGIN_TEXT;
	if (compiler.too_large || regex_linear_bytes(program) > REGEX_STATE_MAX_BYTES) {
		regex_program_free(program);
		return NULL;
	}
	program->n_classes = tree->classes.n;
	program->classes = xcalloc(tree->classes.n + 1, sizeof(*program->classes));
	for (size_t i = 0; i < tree->classes.n; i++)
		regex_charset_init(&program->classes[i], tree->classes.v[i]);
	return program;
}

void regex_program_free(struct regex_program *program)
{
	if (program == NULL)
		return;
	for (size_t i = 0; i < program->n_classes; i++)
		regex_charset_done(&program->classes[i]);
	free(program->classes);
	free(program->inst);
	free(program);
}
