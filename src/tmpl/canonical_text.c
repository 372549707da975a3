/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A template printed back in Go's canonical form, which is what metrics are labelled with. */
#include "tmpl/out_priv.h"
#include "tmpl/tmpl_priv.h"

static void add_pipe(struct strbuf *out, const struct pipe *pipe);
static void add_block(struct strbuf *out, const struct block *block);

static void add_parens(struct strbuf *out, const struct pipe *pipe)
{
	strbuf_addc(out, '(');
	add_pipe(out, pipe);
	strbuf_addc(out, ')');
}

static void add_term(struct strbuf *out, const struct operand *operand)
{
	if (operand->kind == OPERAND_PIPE)
		add_parens(out, operand->pipe);
	else if (operand->kind != OPERAND_FIELD)
		strbuf_add_slice(out, operand->text);
}

static void add_operand(struct strbuf *out, const struct operand *operand)
{
	add_term(out, operand->kind == OPERAND_CHAIN ? operand->base : operand);
	for (uint32_t i = 0; i < operand->n_steps; i++) {
		strbuf_addc(out, '.');
		strbuf_add_slice(out, operand->steps[i].name);
	}
}

static void add_pipe(struct strbuf *out, const struct pipe *pipe)
{
	for (uint32_t i = 0; i < pipe->n_decls; i++) {
		strbuf_adds(out, i > 0 ? ", " : "");
		strbuf_add_slice(out, pipe->decls[i].name);
	}
	if (pipe->n_decls > 0)
		strbuf_adds(out, pipe->is_assign ? " = " : " := ");
	for (uint32_t i = 0; i < pipe->n_cmds; i++) {
		const struct cmd *cmd = &pipe->cmds[i];
		strbuf_adds(out, i > 0 ? " | " : "");
		for (uint32_t k = 0; k < cmd->n_args; k++) {
			strbuf_adds(out, k > 0 ? " " : "");
			add_operand(out, &cmd->args[k]);
		}
	}
}

static void add_branch(struct strbuf *out, const struct stmt *stmt, const char *word)
{
	strbuf_addf(out, "{{%s ", word);
	add_pipe(out, stmt->pipe);
	strbuf_adds(out, "}}");
	add_block(out, &stmt->block);
	if (stmt->else_block != NULL) {
		strbuf_adds(out, "{{else}}");
		add_block(out, stmt->else_block);
	}
	strbuf_adds(out, "{{end}}");
}

static void add_quoted(struct strbuf *out, struct slice text)
{
	/* An escape is at most four times as long as what it stands for. */
	size_t cap = 4 * text.n + 2;
	char *buf = xmalloc(cap);
	struct tmpl_out o = { .p = buf, .cap = cap };
	tmpl_out_quote(&o, text, false);
	strbuf_add(out, buf, o.n);
	free(buf);
}

static void add_stmt(struct strbuf *out, const struct stmt *stmt)
{
	switch (stmt->kind) {
	case STMT_TEXT:
		strbuf_add_slice(out, stmt->text);
		break;
	case STMT_ACTION:
		strbuf_adds(out, "{{");
		add_pipe(out, stmt->pipe);
		strbuf_adds(out, "}}");
		break;
	case STMT_IF:
		add_branch(out, stmt, "if");
		break;
	case STMT_WITH:
		add_branch(out, stmt, "with");
		break;
	case STMT_RANGE:
		add_branch(out, stmt, "range");
		break;
	case STMT_TEMPLATE:
		strbuf_adds(out, "{{template ");
		add_quoted(out, stmt->text);
		strbuf_adds(out, stmt->pipe != NULL ? " " : "");
		if (stmt->pipe != NULL)
			add_pipe(out, stmt->pipe);
		strbuf_adds(out, "}}");
		break;
	case STMT_BREAK:
		strbuf_adds(out, "{{break}}");
		break;
	case STMT_CONTINUE:
		strbuf_adds(out, "{{continue}}");
		break;
	}
}

static void add_block(struct strbuf *out, const struct block *block)
{
	for (uint32_t i = 0; i < block->n; i++)
		add_stmt(out, &block->v[i]);
}

void tmpl_text(const struct tmpl *tmpl, struct strbuf *out)
{
	add_block(out, &tmpl->main->block);
}
