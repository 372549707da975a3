/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The entry points of the template language: tmpl_parse reads and checks a template, tmpl_free
 * frees it, tmpl_part returns its top-level parts (text, field, other). Also finds templates,
 * functions and fields by name, for the checker and the executor. */
#include "tmpl/funcs_priv.h"
#include "tmpl/tmpl_priv.h"

#include "base/err.h"
#include "base/mem.h"
#include "tmpl/check_priv.h"
#include "tmpl/lex_priv.h"
#include "tmpl/parse_priv.h"

struct srcpos tmpl_srcpos(const struct tmpl *tmpl, uint32_t pos)
{
	struct srcpos at = tmpl->base;
	for (uint32_t i = 0; i < pos && i < tmpl->text.n; i++) {
		if (tmpl->text.p[i] == '\n') {
			at.line++;
			at.col = 1;
		} else if (((unsigned char)tmpl->text.p[i] & 0xc0) != 0x80) {
			at.col++;
		}
	}
	return at;
}

struct body *tmpl_find_template(const struct tmpl *tmpl, struct slice name)
{
	struct body *b = tmpl->bodies;
	while (b != NULL && !slice_eq(b->name, name))
		b = b->next;
	return b;
}

const struct tmpl_func *tmpl_find_func(const struct tmpl_env *env, struct slice name)
{
	for (size_t i = 0; i < env->n_funcs; i++) {
		if (slice_is(name, env->funcs[i]->name))
			return env->funcs[i];
	}
	for (size_t i = 0; i < tmpl_n_builtins; i++) {
		if (slice_is(name, tmpl_builtins[i].name))
			return &tmpl_builtins[i];
	}
	return NULL;
}

const struct tmpl_field *tmpl_find_field(const struct tmpl_class *cls, struct slice name)
{
	for (size_t i = 0; i < cls->n_fields; i++) {
		if (slice_is(name, cls->fields[i].name))
			return &cls->fields[i];
	}
	return NULL;
}

static int parse_and_check(struct tmpl *tmpl, struct srcerr *err)
{
	struct tokens toks = { 0 };
	if (tmpl->text.n > TMPL_MAX_BYTES)
		return srcerr_set(err, tmpl->base, "template longer than %d bytes", TMPL_MAX_BYTES);
	tmpl_lex(tmpl->text, &tmpl->arena, &toks);
	int r = tmpl_parse_tokens(tmpl, &toks, err);
	vec_done(&toks);
	return r < 0 ? r : tmpl_check(tmpl, err);
}

int tmpl_parse(struct slice text, struct srcpos base, const struct tmpl_env *env, struct tmpl **ret,
	       struct srcerr *err)
{
	struct tmpl *t = xcalloc(1, sizeof(*t));
	arena_init(&t->arena);
	t->text = (struct slice){ arena_strndup(&t->arena, text.n != 0 ? text.p : "", text.n),
				  text.n };
	t->name = slice_of(arena_strdup(&t->arena, env->name != NULL ? env->name : ""));
	t->base = base;
	t->env = env;
	int r = parse_and_check(t, err);
	t->env = NULL;
	if (r < 0) {
		tmpl_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

void tmpl_free(struct tmpl *tmpl)
{
	if (tmpl == NULL)
		return;
	arena_done(&tmpl->arena);
	free(tmpl);
}

size_t tmpl_n_parts(const struct tmpl *tmpl)
{
	return tmpl->main->block.n;
}

struct tmpl_part tmpl_part(const struct tmpl *tmpl, size_t index)
{
	const struct stmt *s = &tmpl->main->block.v[index];
	if (s->kind == STMT_TEXT)
		return (struct tmpl_part){ TMPL_PART_TEXT, s->text };
	if (s->kind == STMT_ACTION && s->pipe->n_decls == 0 && s->pipe->n_cmds == 1 &&
	    s->pipe->cmds[0].n_args == 1 && s->pipe->cmds[0].args[0].kind == OPERAND_FIELD) {
		const struct operand *o = &s->pipe->cmds[0].args[0];
		struct slice path = { tmpl->text.p + o->pos, o->end - o->pos };
		return (struct tmpl_part){ TMPL_PART_FIELD, path };
	}
	return (struct tmpl_part){ .kind = TMPL_PART_OTHER };
}
