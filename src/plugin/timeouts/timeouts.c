/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timeouts: how long a TCP connection may take to be read from and written to, how long it may stay
 * idle, and how many queries it may send. Blocks on one listener share these; the last one that
 * sets a value counts. */
#include "base/err.h"
#include "base/text/duration.h"
#include "server/setup.h"

#define SECOND_NS INT64_C(1000000000)

enum { TIMEOUT_MIN_S = 1, TIMEOUT_MAX_S = 24 * 3600 };

/* A duration, or a bare number of seconds. */
static int parse_timeout(struct opt_ctx *ctx, const struct opt_line *line)
{
	const struct word *w = &line->arg[0];
	uint64_t seconds;
	int64_t ns;
	if (slice_u64(slice_of(w->s), &seconds) == 0)
		ns = seconds <= TIMEOUT_MAX_S ? (int64_t)seconds * SECOND_NS : INT64_MAX;
	else if (duration_parse(slice_of(w->s), &ns) < 0)
		return srcerr_set(ctx->err, w->pos,
				  "%s: expected a duration such as 5s, or seconds, got '%s'",
				  line->name.s, w->s);
	if (ns < TIMEOUT_MIN_S * SECOND_NS || ns > TIMEOUT_MAX_S * SECOND_NS)
		return srcerr_set(ctx->err, w->pos,
				  "%s: expected a duration from 1s to 24h, got '%s'", line->name.s,
				  w->s);
	*(int64_t *)ctx->field = ns;
	return 0;
}

static int parse_max_queries(struct opt_ctx *ctx, const struct opt_line *line)
{
	const struct word *w = &line->arg[0];
	uint64_t n;
	if (slice_is(slice_of(w->s), "-1")) {
		*(int64_t *)ctx->field = -1;
		return 0;
	}
	if (slice_u64(slice_of(w->s), &n) < 0 || n == 0 || n > INT64_MAX)
		return srcerr_set(ctx->err, w->pos,
				  "%s: expected -1 (no limit) or a positive number, got '%s'",
				  line->name.s, w->s);
	*(int64_t *)ctx->field = (int64_t)n;
	return 0;
}

static const struct opt timeouts_opts[] = {
	{ "read", OPT_FN, offsetof(struct block_timeouts, read_ns), 1, 1, .fn = parse_timeout,
	  .repeatable = true, .args = "DURATION", .help = "time to receive a whole query (3s)" },
	{ "write", OPT_FN, offsetof(struct block_timeouts, write_ns), 1, 1, .fn = parse_timeout,
	  .repeatable = true, .args = "DURATION",
	  .help = "time for the client to read a reply (5s)" },
	{ "idle", OPT_FN, offsetof(struct block_timeouts, idle_ns), 1, 1, .fn = parse_timeout,
	  .repeatable = true, .args = "DURATION", .help = "time between queries (10s)" },
	{ "maxtcpqueries", OPT_FN, offsetof(struct block_timeouts, max_tcp_queries), 1, 1,
	  .fn = parse_max_queries, .repeatable = true, .args = "N",
	  .help = "queries accepted on one connection; -1: no limit (-1)" },
};

static int timeouts_parse(struct plugin_inst *self, struct setup *setup)
{
	(void)self;
	for (size_t i = 0; i < setup->n_dir; i++) {
		const struct corefile_dir *d = setup->dir[i];
		if (d->n_arg == 0 && d->n_body == 0)
			return setup_error(setup, d->name.pos,
					   "timeouts: expected a block with at least one of read, "
					   "write, idle and maxtcpqueries");
		int r = setup_options(setup, d, timeouts_opts, ARRAY_LEN(timeouts_opts),
				      &setup->conf->timeouts, NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

const struct plugin timeouts_plugin = {
	.name = "timeouts",
	.opts = timeouts_opts,
	.n_opts = ARRAY_LEN(timeouts_opts),
	.parse = timeouts_parse,
};
