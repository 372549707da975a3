/* SPDX-License-Identifier: GPL-3.0-or-later */
/* metadata: lets every plugin of the block register its labels before the query is routed further,
 * so that view, template, log and others can ask for them. */
#include <stdlib.h>

#include "base/mem.h"
#include "server/query.h"
#include "server/setup.h"

struct metadata_conf {
	struct zone_list zones;
	struct plugin_inst **provider;
	size_t n;
};

static void collect_labels(void *ctx, struct query *q)
{
	const struct metadata_conf *c = ctx;
	/* What another block's plugins registered while it was tried is not ours. */
	q->meta = NULL;
	if (zone_list_match(&c->zones, &q->qname) < 0)
		return;
	for (size_t i = 0; i < c->n; i++)
		c->provider[i]->plugin->ops.metadata(c->provider[i], q);
}

static int metadata_parse(struct plugin_inst *self, struct setup *setup)
{
	struct metadata_conf *c = self->conf;
	const struct corefile_dir *d = setup->dir[0];
	int r = setup_once(setup);
	if (r < 0)
		return r;
	if (d->n_body != 0)
		return setup_error(setup, d->body[0].name.pos, "metadata takes no options");
	setup->conf->collect = collect_labels;
	setup->conf->collect_ctx = c;
	return setup_zones(setup, d->arg, d->n_arg, &c->zones);
}

static int metadata_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	(void)prepare;
	struct metadata_conf *c = self->conf;
	struct plugin_inst *in;
	size_t n = 0;
	while (block_inst(self->block, n) != NULL)
		n++;
	c->provider = xcalloc(n, sizeof(*c->provider));
	for (size_t i = 0; (in = block_inst(self->block, i)) != NULL; i++) {
		if (in->plugin->ops.metadata != NULL)
			c->provider[c->n++] = in;
	}
	return 0;
}

static void metadata_teardown(struct plugin_inst *self)
{
	struct metadata_conf *c = self->conf;
	free(c->provider);
}

/* A member of the chain, so that a block of nothing else answers as CoreDNS's does. */
static enum verdict metadata_serve(struct plugin_inst *self, struct query *q)
{
	(void)self;
	(void)q;
	return V_NEXT;
}

static const struct opt metadata_opts[] = {
	{ "<zones...>", OPT_LIST, 0, .help = "zones to collect for (default: those of the block)" },
};

const struct plugin metadata_plugin = {
	.name = "metadata",
	.opts = metadata_opts,
	.n_opts = ARRAY_LEN(metadata_opts),
	.conf_size = sizeof(struct metadata_conf),
	.parse = metadata_parse,
	.prepare = metadata_prepare,
	.teardown = metadata_teardown,
	.serve = metadata_serve,
};
