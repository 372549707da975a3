/* SPDX-License-Identifier: GPL-3.0-or-later */
/* view: a block accepts a query only when all expressions are true for it; others go to the next
 * block of the same zone. */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "plugin/shared/exprenv.h"
#include "server/query.h"
#include "server/setup.h"

struct view_conf {
	const char *name;
	const struct corefile_dir *dir;
	struct expr **cond;
	size_t n;
	_Atomic uint64_t next_log_ns;
};

/* Clients choose how often this happens, so one line in ten seconds is enough. */
static void log_failure(struct view_conf *conf, struct query *q, const struct word *expr)
{
	uint64_t now = query_now(q);
	uint64_t next = atomic_load_explicit(&conf->next_log_ns, memory_order_relaxed);
	if (now < next ||
	    !atomic_compare_exchange_strong(&conf->next_log_ns, &next, now + 10 * NS_PER_S))
		return;
	query_logf(q, LOG_ERROR, "plugin/view",
		   "view '%s': the expression at %s:%u:%u needs more memory or steps than a query "
		   "may use; the query gets SERVFAIL",
		   conf->name, expr->pos.file, expr->pos.line, expr->pos.col);
}

static int all_true(struct view_conf *conf, struct exprenv *env)
{
	for (size_t i = 0; i < conf->n; i++) {
		struct expr_value v;
		int r = exprenv_eval(conf->cond[i], env, NULL, &v);
		if (r < 0 && r != ERR_TYPE) {
			log_failure(conf, env->q, &conf->dir->body[i].name);
			return r;
		}
		/* To CoreDNS an expression that fails is false. */
		if (r < 0 || !exprenv_is_true(&v))
			return 0;
	}
	return 1;
}

static int filter_query(void *ctx, struct query *q)
{
	struct exprenv env = { .q = q };
	char *cur = q->arena.cur;
	const char *end = q->arena.end;
	int taken = all_true(ctx, &env);
	/* Many views may be tried: none of their texts is needed any more. */
	if (q->arena.end == end && !env.asked_others)
		q->arena.cur = cur;
	return taken;
}

/* Expressions are compiled by prepare. */
static int keep_expr(struct opt_ctx *ctx, const struct opt_line *line)
{
	(void)ctx;
	(void)line;
	return 0;
}

static const struct opt view_opts[] = {
	{ "<name>", OPT_STRING, offsetof(struct view_conf, name), .args = "NAME",
	  .help = "name of the view, for metrics and metadata" },
	{ "expr", OPT_FN, 0, .fn = keep_expr, .repeatable = true, .args = "EXPRESSION",
	  .help = "condition; all of them must be true" },
};

static int view_parse(struct plugin_inst *self, struct setup *setup)
{
	struct view_conf *c = self->conf;
	c->dir = setup->dir[0];
	int r = setup_once(setup);
	if (r < 0)
		return r;
	if (c->dir->n_arg == 0)
		return setup_error(setup, c->dir->name.pos, "view: expected a name");
	r = setup_options(setup, c->dir, view_opts, ARRAY_LEN(view_opts), c, NULL);
	if (r < 0)
		return r;
	setup->conf->view = c->name;
	setup->conf->filter = filter_query;
	setup->conf->filter_ctx = c;
	return 0;
}

static void view_teardown(struct plugin_inst *self)
{
	struct view_conf *c = self->conf;
	for (size_t i = 0; i < c->n; i++)
		expr_free(c->cond[i]);
	free(c->cond);
	c->cond = NULL;
	c->n = 0;
}

static int view_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	struct view_conf *c = self->conf;
	const struct expr_env env = { .funcs = exprenv_funcs, .n_funcs = EXPRENV_FUNCS_NO_GROUP };
	c->cond = xcalloc(c->dir->n_body + 1, sizeof(*c->cond));
	for (size_t i = 0; i < c->dir->n_body; i++) {
		const struct corefile_dir *line = &c->dir->body[i];
		int r = exprenv_parse(line->arg, line->n_arg, &line->name, &env, NULL, &c->cond[i],
				      prepare->err);
		if (r < 0) {
			view_teardown(self);
			return r;
		}
		c->n++;
	}
	return 0;
}

static struct slice view_name(struct plugin_inst *self, struct query *q, struct slice label)
{
	(void)q;
	(void)label;
	return slice_of(((const struct view_conf *)self->conf)->name);
}

static void view_metadata(struct plugin_inst *self, struct query *q)
{
	query_meta_set(q, self, "view/name", view_name);
}

/* A member of the chain, so that a block of nothing else answers as CoreDNS's does. */
static enum verdict view_serve(struct plugin_inst *self, struct query *q)
{
	(void)self;
	(void)q;
	return V_NEXT;
}

const struct plugin view_plugin = {
	.name = "view",
	.opts = view_opts,
	.n_opts = ARRAY_LEN(view_opts),
	.conf_size = sizeof(struct view_conf),
	.parse = view_parse,
	.prepare = view_prepare,
	.teardown = view_teardown,
	.serve = view_serve,
	.ops = { .metadata = view_metadata },
};
