/* SPDX-License-Identifier: GPL-3.0-or-later */
/* reload: how often the configuration is checked for changes. The control thread does the check and
 * the swap (server/control.c). */
#include "base/clock.h"
#include "server/setup.h"

enum { INTERVAL_MIN_S = 2, JITTER_MIN_S = 1 };

static const struct opt reload_opts[] = {
	{ "<interval>", OPT_DURATION, offsetof(struct block_conf, reload_ns),
	  INTERVAL_MIN_S *(int64_t)NS_PER_S, INT64_MAX, .def = "30s", .args = "DURATION",
	  .help = "time between two checks" },
	{ "<jitter>", OPT_DURATION, offsetof(struct block_conf, reload_jitter_ns), .def = "15s",
	  .args = "DURATION", .help = "width of the random part of the interval" },
};

/* Of several lines the first one counts. */
static int reload_parse(struct plugin_inst *self, struct setup *setup)
{
	const struct corefile_dir *d = setup->dir[0];
	struct block_conf *c = setup->conf;
	(void)self;
	int r = setup_options(setup, d, reload_opts, ARRAY_LEN(reload_opts), c, NULL);
	if (r < 0)
		return r;
	if (c->reload_jitter_ns != 0 && c->reload_jitter_ns < JITTER_MIN_S * (int64_t)NS_PER_S)
		return setup_error(setup, d->arg[1].pos,
				   "<jitter>: expected 0 or a duration of at least 1s, got '%s'",
				   d->arg[1].s);
	c->reload_jitter_ns = MIN(c->reload_jitter_ns, c->reload_ns / 2);
	return 0;
}

const struct plugin reload_plugin = {
	.name = "reload",
	.opts = reload_opts,
	.n_opts = ARRAY_LEN(reload_opts),
	.parse = reload_parse,
};
