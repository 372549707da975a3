/* Where the parser stands in its tokens, how it complains, what it counts, and which variables are
 * in scope. */
#include "tmpl/parse_priv.h"

#include "base/err.h"

void *tmpl_parse_keep(struct parser *p, void *v, size_t n, size_t elem_bytes)
{
	void *kept = n != 0 ? arena_memdup(&p->t->arena, v, n * elem_bytes) : NULL;
	free(v);
	return kept;
}

uint32_t tmpl_parse_end(const struct parser *p)
{
	size_t i = p->i;
	while (i > 0 && p->toks->v[i - 1].type == TOK_SPACE)
		i--;
	const struct token *t = &p->toks->v[i > 0 ? i - 1 : 0];
	return t->type == TOK_ERROR ? t->pos : t->pos + (uint32_t)t->val.n;
}

const char *tmpl_parse_quoted(struct parser *p, struct slice s)
{
	char *buf = arena_alloc(&p->t->arena, 256);
	struct tmpl_out o = { .p = buf, .cap = 250 };
	tmpl_out_quote(&o, (struct slice){ s.p, MIN(s.n, (size_t)60) }, false);
	buf[o.n] = '\0';
	return buf;
}

int tmpl_parse_unexpected(struct parser *p, const struct token *t, const char *context)
{
	int n = (int)MIN(t->val.n, (size_t)200);
	if (t->type == TOK_ERROR)
		return FAIL(p, t->pos, "%.*s", n, t->val.p);
	if (t->type == TOK_EOF)
		return FAIL(p, t->pos, "unexpected EOF in %s", context);
	if (t->type >= TOK_DOT)
		return FAIL(p, t->pos, "unexpected <%.*s> in %s", n, t->val.p, context);
	struct slice head = { t->val.p, MIN(t->val.n, (size_t)10) };
	return FAIL(p, t->pos, "unexpected %s%s in %s", tmpl_parse_quoted(p, head),
		    t->val.n > 10 ? "..." : "", context);
}

int tmpl_parse_count(struct parser *p)
{
	if (++p->nodes > TMPL_MAX_NODES)
		return FAIL(p, tmpl_peek(p)->pos, "template too large: more than %d parts",
			    TMPL_MAX_NODES);
	return 0;
}

int tmpl_parse_enter(struct parser *p)
{
	if (++p->nesting > TMPL_MAX_NESTING)
		return FAIL(p, tmpl_peek(p)->pos, "nested deeper than %d levels", TMPL_MAX_NESTING);
	return 0;
}

/* The newest declaration wins. */
int tmpl_parse_find_var(struct parser *p, struct slice name, uint32_t pos, uint32_t *ret_slot)
{
	for (size_t i = p->vars.n; i > 0; i--) {
		if (slice_eq(p->vars.v[i - 1].name, name)) {
			*ret_slot = p->vars.v[i - 1].slot;
			return 0;
		}
	}
	return FAIL(p, pos, "undefined variable %s", tmpl_parse_quoted(p, name));
}

int tmpl_parse_declare(struct parser *p, struct slice name, uint32_t pos, uint32_t *ret_slot)
{
	if (p->slots.n >= TMPL_MAX_VARS)
		return FAIL(p, pos, "more than %d variables", TMPL_MAX_VARS);
	*ret_slot = (uint32_t)p->slots.n;
	vec_push(&p->slots, (struct slot){ .assigned = false });
	vec_push(&p->vars, (struct var){ name, *ret_slot });
	return 0;
}
