/* SPDX-License-Identifier: GPL-3.0-or-later */
/* debug: switches debug lines on, for the whole process, as long as any block asks for it. */
#include "server/setup.h"

static int debug_parse(struct plugin_inst *self, struct setup *setup)
{
	(void)self;
	for (size_t i = 0; i < setup->n_dir; i++) {
		const struct corefile_dir *d = setup->dir[i];
		if (d->n_arg != 0)
			return setup_error(setup, d->arg[0].pos, "debug takes no arguments");
		if (d->has_body)
			return setup_error(setup, d->name.pos, "debug takes no options");
	}
	setup->conf->debug = true;
	return 0;
}

const struct plugin debug_plugin = {
	.name = "debug",
	.parse = debug_parse,
};
