/* SPDX-License-Identifier: GPL-3.0-or-later */
/* errors: a log line for each query that failed with a text. Lines that match a `consolidate`
 * pattern are counted instead, and logged as one number when the pattern's period is over. */
#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/regex/regex.h"
#include "base/text/duration.h"
#include "server/query.h"
#include "server/setup.h"

#define AREA "plugin/errors"

struct pattern {
	struct pattern *next;
	struct word text;
	struct regex *re; /* from prepare to teardown */
	int64_t period_ns;
	enum log_level level;
	bool show_first;
	unsigned index;
	/* Errors since the period began. The worker that raises it from 0 to 1 starts its own
	 * timer, so there is always one worker that will tell the number. */
	_Atomic uint32_t count;
};

struct errors_conf {
	int file; /* the only one is stdout */
	bool stacktrace;
	struct pattern *first, **last;
	unsigned n;
};

/* One per worker and pattern. */
struct pattern_timer {
	struct loop_timer timer;
	struct pattern *p;
	struct worker *w;
};

static const struct {
	const char *word;
	enum log_level level;
} levels[] = {
	{ "warning", LOG_WARNING },
	{ "error", LOG_ERROR },
	{ "info", LOG_INFO },
	{ "debug", LOG_DEBUG },
};

static const enum log_level *find_level(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
		if (strcmp(levels[i].word, word) == 0)
			return &levels[i].level;
	}
	return NULL;
}

/* What may follow the pattern: a level, then show_first. */
static int parse_tail(struct opt_ctx *ctx, const struct opt_line *line, struct pattern *pattern)
{
	bool have_level = false;
	for (size_t i = 2; i < line->n_arg; i++) {
		const struct word *w = &line->arg[i];
		const enum log_level *level = find_level(w->s);
		if (level != NULL && have_level)
			return srcerr_set(ctx->err, w->pos, "consolidate: a second log level");
		if (level != NULL && pattern->show_first)
			return srcerr_set(ctx->err, w->pos,
					  "consolidate: the log level must come before "
					  "'show_first'");
		if (level != NULL) {
			pattern->level = *level;
			have_level = true;
		} else if (strcmp(w->s, "show_first") == 0) {
			pattern->show_first = true;
		} else {
			return srcerr_set(ctx->err, w->pos,
					  "consolidate: expected warning, error, info, debug or "
					  "show_first, got '%s'",
					  w->s);
		}
	}
	return 0;
}

static int parse_consolidate(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct errors_conf *c = ctx->conf;
	struct pattern *p = arena_calloc(ctx->arena, sizeof(*p));
	p->level = LOG_ERROR;
	p->text = line->arg[1];
	p->index = c->n++;
	if (duration_parse(slice_of(line->arg[0].s), &p->period_ns) < 0)
		return srcerr_set(ctx->err, line->arg[0].pos,
				  "consolidate: expected a duration such as 5s, got '%s'",
				  line->arg[0].s);
	*c->last = p;
	c->last = &p->next;
	return parse_tail(ctx, line, p);
}

static const char *const files[] = { "stdout", NULL };

static const struct opt errors_opts[] = {
	{ "<file>", OPT_ENUM, offsetof(struct errors_conf, file), .words = files, .def = "stdout",
	  .args = "stdout", .help = "output of the log lines" },
	{ "stacktrace", OPT_FLAG, offsetof(struct errors_conf, stacktrace), .repeatable = true,
	  .help = "accepted and without effect: there are no panics to trace" },
	{ "consolidate", OPT_FN, .fn = parse_consolidate, .min = 2, .max = 4, .repeatable = true,
	  .args = "DURATION REGEX [warning|error|info|debug] [show_first]",
	  .help = "count the errors that match and log their number once per DURATION" },
};

static int errors_parse(struct plugin_inst *self, struct setup *setup)
{
	struct errors_conf *c = self->conf;
	c->last = &c->first;
	int r = setup_once(setup);
	return r < 0 ? r
		     : setup_options(setup, setup->dir[0], errors_opts, ARRAY_LEN(errors_opts), c,
				     setup);
}

static void errors_teardown(struct plugin_inst *self)
{
	struct errors_conf *c = self->conf;
	for (struct pattern *p = c->first; p != NULL; p = p->next) {
		regex_free(p->re);
		p->re = NULL;
	}
}

static int errors_prepare(struct plugin_inst *self, struct prepare *prep)
{
	struct errors_conf *c = self->conf;
	for (struct pattern *p = c->first; p != NULL; p = p->next) {
		struct srcerr e;
		int r = regex_new(slice_of(p->text.s), &p->re, &e);
		if (r < 0) {
			errors_teardown(self);
			return srcerr_set(prep->err, p->text.pos, "consolidate: %s", e.text);
		}
	}
	return 0;
}

/* The period of a pattern is over, or the worker's part in it. */
static void log_count(struct pattern_timer *timer)
{
	struct pattern *p = timer->p;
	char line[REGEX_PATTERN_MAX / 2], period[64];
	uint32_t n = atomic_exchange(&p->count, 0);
	if (n == 0 || (n == 1 && p->show_first) || (p->level == LOG_DEBUG && !log_debug_enabled()))
		return;
	int len = snprintf(line, sizeof(line), "%u errors like '%s' occurred in last %s", n,
			   p->text.s, duration_str(p->period_ns, period, sizeof(period)));
	worker_log(timer->w, p->level, AREA,
		   (struct slice){ line, MIN((size_t)len, sizeof(line) - 1) }, SLICE(""));
}

static void on_timer(struct loop_timer *timer)
{
	log_count(CONTAINER_OF(timer, struct pattern_timer, timer));
}

static int errors_worker_init(struct plugin_inst *self, struct worker *worker)
{
	struct errors_conf *c = self->conf;
	struct pattern_timer *t = xcalloc(c->n + 1, sizeof(*t));
	for (struct pattern *p = c->first; p != NULL; p = p->next)
		t[p->index] = (struct pattern_timer){ .timer.cb = on_timer, .p = p, .w = worker };
	self->worker_data[worker_slot(worker)] = t;
	return 0;
}

/* Also at shutdown: nothing that was counted gets lost. */
static void errors_worker_done(struct plugin_inst *self, struct worker *worker)
{
	struct errors_conf *c = self->conf;
	struct pattern_timer *t = self->worker_data[worker_slot(worker)];
	for (unsigned i = 0; i < c->n; i++) {
		if (t[i].timer.heap_at == 0)
			continue;
		loop_timer_stop(worker_loop(worker), &t[i].timer);
		log_count(&t[i]);
	}
	free(t);
	self->worker_data[worker_slot(worker)] = NULL;
}

/* True when the error is counted and needs no line of its own. */
static bool is_consolidated(struct plugin_inst *self, struct query *q, struct pattern *pattern)
{
	if (atomic_fetch_add(&pattern->count, 1) != 0)
		return true;
	struct pattern_timer *t = self->worker_data[query_slot(q)];
	/* Only the timer of the worker that raised the count from 0 sets it to 0 again. */
	assert(t[pattern->index].timer.heap_at == 0);
	uint64_t wait_ns = pattern->period_ns > 0 ? (uint64_t)pattern->period_ns : 0;
	loop_timer_set(query_loop(q), &t[pattern->index].timer, query_now(q) + wait_ns);
	return !pattern->show_first;
}

static struct pattern *find_pattern(const struct errors_conf *conf, struct query *q)
{
	for (struct pattern *p = conf->first; p != NULL; p = p->next) {
		if (regex_match(p->re, query_regex(q), slice_of(q->err)))
			return p;
	}
	return NULL;
}

static void errors_done(struct plugin_inst *self, struct query *q)
{
	/* what fails a walk is an error of the client's query, too */
	if (LIKELY(q->err == NULL) || q->in_walk ||
	    (q->outcome != V_FAIL && (q->outcome != V_ANSWERED || q->rcode != 0)))
		return;
	struct pattern *p = find_pattern(self->conf, q);
	if (p != NULL && is_consolidated(self, q, p))
		return;
	enum log_level level = p != NULL ? p->level : LOG_ERROR;
	if (level == LOG_DEBUG && !log_debug_enabled())
		return;
	char name[DNS_NAME_TEXT_MAX], type[DNS_MNEMONIC_MAX];
	dns_name_to_text(q->qname.wire, false, name);
	query_logf(q, level, AREA, "%u %s %s: %s", q->rcode, name, dns_type_str(q->req.qtype, type),
		   q->err);
}

const struct plugin errors_plugin = {
	.name = "errors",
	.opts = errors_opts,
	.n_opts = ARRAY_LEN(errors_opts),
	.conf_size = sizeof(struct errors_conf),
	.parse = errors_parse,
	.prepare = errors_prepare,
	.worker_init = errors_worker_init,
	.worker_done = errors_worker_done,
	.teardown = errors_teardown,
	.done = errors_done,
};
