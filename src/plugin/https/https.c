/* SPDX-License-Identifier: GPL-3.0-or-later */
/* https: limits of DNS over HTTPS listeners (connections, streams per connection). */
#include "server/setup.h"

static int read_limit(struct opt_ctx *ctx, const struct opt_line *line, bool *has, uint32_t *ret)
{
	const struct word *w = &line->arg[0];
	uint64_t n;
	if (slice_u64(slice_of(w->s), &n) < 0 || n > UINT32_MAX)
		return srcerr_set(ctx->err, w->pos,
				  "%s: expected a number from 0 to 4294967295, got '%s'",
				  line->name.s, w->s);
	*has = true;
	*ret = (uint32_t)n;
	return 0;
}

static int read_connections(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct block_conf *c = ctx->user;
	return read_limit(ctx, line, &c->https.has_max_connections, &c->https.max_connections);
}

static int read_streams(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct block_conf *c = ctx->user;
	return read_limit(ctx, line, &c->https.has_max_streams, &c->https.max_streams);
}

static const struct opt https_opts[] = {
	{ "max_connections", OPT_FN, 0, 1, 1, .fn = read_connections, .args = "N",
	  .help = "connections at once; 0: only the limit of all encrypted ones (0)" },
	{ "max_streams", OPT_FN, 0, 1, 1, .fn = read_streams, .args = "N",
	  .help = "HTTP/2 requests at once on one connection; 0 for the default (250)" },
};

static int https_parse(struct plugin_inst *self, struct setup *setup)
{
	(void)self;
	int r = setup_once(setup);
	if (r < 0)
		return r;
	return setup_options(setup, setup->dir[0], https_opts, ARRAY_LEN(https_opts), setup->conf,
			     setup->conf);
}

const struct plugin https_plugin = {
	.name = "https",
	.opts = https_opts,
	.n_opts = ARRAY_LEN(https_opts),
	.parse = https_parse,
};
