/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cancel: the time after which plugins stop waiting for upstreams, and the query fails. */
#include "server/query.h"
#include "server/setup.h"

struct cancel_conf {
	int64_t timeout_ns;
};

static const struct opt cancel_opts[] = {
	{ "<timeout>", OPT_DURATION, offsetof(struct cancel_conf, timeout_ns), 1, INT64_MAX,
	  .def = "5001ms", .args = "DURATION", .help = "time a query may take" },
};

static int cancel_parse(struct plugin_inst *self, struct setup *setup)
{
	for (size_t i = 0; i < setup->n_dir; i++) {
		int r = setup_options(setup, setup->dir[i], cancel_opts, ARRAY_LEN(cancel_opts),
				      self->conf, NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A sub-query may have inherited an earlier deadline, which holds for it too. */
static enum verdict cancel_serve(struct plugin_inst *self, struct query *q)
{
	const struct cancel_conf *c = self->conf;
	uint64_t due = q->start_ns + (uint64_t)c->timeout_ns;
	if (q->deadline_ns == 0 || due < q->deadline_ns)
		q->deadline_ns = due;
	return V_NEXT;
}

const struct plugin cancel_plugin = {
	.name = "cancel",
	.opts = cancel_opts,
	.n_opts = ARRAY_LEN(cancel_opts),
	.conf_size = sizeof(struct cancel_conf),
	.parse = cancel_parse,
	.serve = cancel_serve,
};
