/* SPDX-License-Identifier: GPL-3.0-or-later */
/* multisocket: how many sockets listen on each address. Here each socket has a worker of its own,
 * so this is the number of workers; it is read once, when the program starts. */
#include "server/setup.h"

enum { SOCKETS_MAX = 1024 };

struct multisocket_conf {
	uint64_t sockets;
};

static const struct opt multisocket_opts[] = {
	{ "<sockets>", OPT_UINT, offsetof(struct multisocket_conf, sockets), 1, SOCKETS_MAX,
	  .args = "N", .help = "sockets per address (as many as CPUs)" },
};

static int multisocket_parse(struct plugin_inst *self, struct setup *setup)
{
	struct multisocket_conf *c = self->conf;
	int r = setup_once(setup);
	if (r == 0)
		r = setup_options(setup, setup->dir[0], multisocket_opts,
				  ARRAY_LEN(multisocket_opts), c, NULL);
	if (r < 0)
		return r;
	setup->conf->sockets = (unsigned)c->sockets;
	return 0;
}

const struct plugin multisocket_plugin = {
	.name = "multisocket",
	.opts = multisocket_opts,
	.n_opts = ARRAY_LEN(multisocket_opts),
	.conf_size = sizeof(struct multisocket_conf),
	.parse = multisocket_parse,
};
