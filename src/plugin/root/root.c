/* SPDX-License-Identifier: GPL-3.0-or-later */
/* root: the folder that relative paths of a server block start from. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/log.h"
#include "server/setup.h"

struct root_conf {
	const char *path;
	struct srcpos pos;
};

static const struct opt root_opts[] = {
	{ "<path>", OPT_STRING, offsetof(struct root_conf, path), .args = "PATH",
	  .help = "folder for relative paths" },
};

/* Of several lines the last one counts. */
static int root_parse(struct plugin_inst *self, struct setup *setup)
{
	struct root_conf *c = self->conf;
	for (size_t i = 0; i < setup->n_dir; i++) {
		const struct corefile_dir *d = setup->dir[i];
		if (d->n_arg == 0)
			return setup_error(setup, d->name.pos, "root: expected a path");
		int r = setup_options(setup, d, root_opts, ARRAY_LEN(root_opts), c, NULL);
		if (r < 0)
			return r;
		c->pos = d->arg[0].pos;
	}
	setup->conf->root = c->path;
	return 0;
}

/* A folder that does not exist may still appear: a warning. One that cannot be accessed will not.
 */
static int root_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	const struct root_conf *c = self->conf;
	struct stat st;
	if (stat(c->path, &st) == 0)
		return 0;
	if (errno != ENOENT)
		return srcerr_set(prepare->err, c->pos, "root: cannot access '%s': %s", c->path,
				  strerror(errno));
	log_warn("plugin/root", "Root path does not exist: %s", c->path);
	return 0;
}

const struct plugin root_plugin = {
	.name = "root",
	.opts = root_opts,
	.n_opts = ARRAY_LEN(root_opts),
	.conf_size = sizeof(struct root_conf),
	.parse = root_parse,
	.prepare = root_prepare,
};
