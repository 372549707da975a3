/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bind: the addresses a server block listens on, written as addresses or as interface names.
 * Interfaces are resolved to addresses when the configuration is read. */
#include <errno.h>
#include <ifaddrs.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "plugin/bind/expand.h"
#include "server/setup.h"

struct bind_conf {
	struct opt_list addrs, except;
};

static const struct opt bind_opts[] = {
	{ "<address>", OPT_LIST, offsetof(struct bind_conf, addrs), .args = "ADDRESS|INTERFACE...",
	  .help = "where to listen" },
	{ "except", OPT_LIST, offsetof(struct bind_conf, except), .args = "ADDRESS|INTERFACE...",
	  .help = "addresses left out" },
};

struct work {
	struct bind_addrs all, line, except;
};

static bool has_address(const struct bind_addrs *addrs, const char *text)
{
	for (size_t i = 0; i < addrs->n; i++) {
		if (strcmp(addrs->v[i], text) == 0)
			return true;
	}
	return false;
}

static int add_line(struct setup *setup, const struct corefile_dir *dir, const struct ifaddrs *ifs,
		    struct work *work)
{
	struct bind_conf c = { 0 };
	work->line.n = work->except.n = 0;
	if (dir->n_arg == 0)
		return setup_error(setup, dir->name.pos,
				   "bind: expected at least one address or interface");
	int r = setup_options(setup, dir, bind_opts, ARRAY_LEN(bind_opts), &c, NULL);
	if (r == 0)
		r = bind_expand(&c.addrs, ifs, setup->arena, &work->line, setup->err);
	if (r == 0)
		r = bind_expand(&c.except, ifs, setup->arena, &work->except, setup->err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < work->line.n; i++) {
		if (has_address(&work->except, work->line.v[i]))
			continue;
		if (work->all.n == BIND_MAX_ADDRESSES)
			return setup_error(setup, dir->name.pos, "bind: more than %d addresses",
					   BIND_MAX_ADDRESSES);
		work->all.v[work->all.n++] = work->line.v[i];
	}
	return 0;
}

static int bind_parse(struct plugin_inst *self, struct setup *setup)
{
	CLEANUP(freep) struct work *w = xcalloc(1, sizeof(*w));
	struct ifaddrs *ifs = NULL;
	int r = 0;
	if (getifaddrs(&ifs) != 0)
		log_warn("plugin/bind", "cannot list interfaces, so their names cannot be used: %s",
			 strerror(errno));
	for (size_t i = 0; i < setup->n_dir && r == 0; i++)
		r = add_line(setup, setup->dir[i], ifs, w);
	if (ifs != NULL)
		freeifaddrs(ifs);
	if (r < 0)
		return r;
	if (w->all.n == 0)
		return setup_error(setup, self->pos, "bind: no address is left to listen on");
	setup->conf->listen = arena_memdup(setup->arena, w->all.v, w->all.n * sizeof(w->all.v[0]));
	setup->conf->n_listen = w->all.n;
	return 0;
}

const struct plugin bind_plugin = {
	.name = "bind",
	.opts = bind_opts,
	.n_opts = ARRAY_LEN(bind_opts),
	.parse = bind_parse,
};
