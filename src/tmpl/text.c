/* A template printed back in Go's canonical form, which is what metrics are labelled with. */
#include "tmpl/tmpl_priv.h"

static void add_pipe(struct strbuf *b, const struct pipe *pipe);
static void add_block(struct strbuf *b, const struct block *block);

static void add_parens(struct strbuf *b, const struct pipe *pipe)
{
	strbuf_addc(b, '(');
	add_pipe(b, pipe);
	strbuf_addc(b, ')');
}

static void add_term(struct strbuf *b, const struct operand *o)
{
	if (o->kind == OPERAND_PIPE)
		add_parens(b, o->pipe);
	else if (o->kind != OPERAND_FIELD)
		strbuf_add_slice(b, o->text);
}

static void add_operand(struct strbuf *b, const struct operand *o)
{
	add_term(b, o->kind == OPERAND_CHAIN ? o->base : o);
	for (uint32_t i = 0; i < o->n_steps; i++) {
		strbuf_addc(b, '.');
		strbuf_add_slice(b, o->steps[i].name);
	}
}

static void add_pipe(struct strbuf *b, const struct pipe *pipe)
{
	for (uint32_t i = 0; i < pipe->n_decls; i++) {
		strbuf_adds(b, i > 0 ? ", " : "");
		strbuf_add_slice(b, pipe->decls[i].name);
	}
	if (pipe->n_decls > 0)
		strbuf_adds(b, pipe->is_assign ? " = " : " := ");
	for (uint32_t i = 0; i < pipe->n_cmds; i++) {
		const struct cmd *cmd = &pipe->cmds[i];
		strbuf_adds(b, i > 0 ? " | " : "");
		for (uint32_t k = 0; k < cmd->n_args; k++) {
			strbuf_adds(b, k > 0 ? " " : "");
			add_operand(b, &cmd->args[k]);
		}
	}
}

static void add_branch(struct strbuf *b, const struct stmt *s, const char *word)
{
	strbuf_addf(b, "{{%s ", word);
	add_pipe(b, s->pipe);
	strbuf_adds(b, "}}");
	add_block(b, &s->block);
	if (s->else_block != NULL) {
		strbuf_adds(b, "{{else}}");
		add_block(b, s->else_block);
	}
	strbuf_adds(b, "{{end}}");
}

static void add_quoted(struct strbuf *b, struct slice s)
{
	/* An escape is at most four times as long as what it stands for. */
	size_t cap = 4 * s.n + 2;
	char *buf = xmalloc(cap);
	struct tmpl_out o = { .p = buf, .cap = cap };
	tmpl_out_quote(&o, s, false);
	strbuf_add(b, buf, o.n);
	free(buf);
}

static void add_stmt(struct strbuf *b, const struct stmt *s)
{
	switch (s->kind) {
	case STMT_TEXT:
		strbuf_add_slice(b, s->text);
		break;
	case STMT_ACTION:
		strbuf_adds(b, "{{");
		add_pipe(b, s->pipe);
		strbuf_adds(b, "}}");
		break;
	case STMT_IF:
		add_branch(b, s, "if");
		break;
	case STMT_WITH:
		add_branch(b, s, "with");
		break;
	case STMT_RANGE:
		add_branch(b, s, "range");
		break;
	case STMT_TEMPLATE:
		strbuf_adds(b, "{{template ");
		add_quoted(b, s->text);
		strbuf_adds(b, s->pipe != NULL ? " " : "");
		if (s->pipe != NULL)
			add_pipe(b, s->pipe);
		strbuf_adds(b, "}}");
		break;
	case STMT_BREAK:
		strbuf_adds(b, "{{break}}");
		break;
	case STMT_CONTINUE:
		strbuf_adds(b, "{{continue}}");
		break;
	}
}

static void add_block(struct strbuf *b, const struct block *block)
{
	for (uint32_t i = 0; i < block->n; i++)
		add_stmt(b, &block->v[i]);
}

void tmpl_text(const struct tmpl *t, struct strbuf *b)
{
	add_block(b, &t->main->block);
}
