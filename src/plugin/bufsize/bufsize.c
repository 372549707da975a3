/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bufsize: lowers the buffer size a client announces by EDNS, for the reply and for what is
 * forwarded, so that datagrams are not fragmented. */
#include "server/query.h"
#include "server/setup.h"

struct bufsize_conf {
	uint64_t size;
};

static const struct opt bufsize_opts[] = {
	{ "<size>", OPT_UINT, offsetof(struct bufsize_conf, size), 512, 4096, .def = "1232",
	  .args = "N", .help = "largest size in bytes" },
};

/* Of several lines the first one counts. */
static int bufsize_parse(struct plugin_inst *self, struct setup *setup)
{
	return setup_options(setup, setup->dir[0], bufsize_opts, ARRAY_LEN(bufsize_opts),
			     self->conf, NULL);
}

static enum verdict bufsize_serve(struct plugin_inst *self, struct query *q)
{
	const struct bufsize_conf *c = self->conf;
	if (q->req.opt.present && q->req.opt.udp_size > c->size)
		q->req.opt.udp_size = (uint16_t)c->size;
	return V_NEXT;
}

const struct plugin bufsize_plugin = {
	.name = "bufsize",
	.opts = bufsize_opts,
	.n_opts = ARRAY_LEN(bufsize_opts),
	.conf_size = sizeof(struct bufsize_conf),
	.parse = bufsize_parse,
	.serve = bufsize_serve,
};
