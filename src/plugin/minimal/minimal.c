/* SPDX-License-Identifier: GPL-3.0-or-later */
/* minimal: replies that answer the question lose their authority and additional sections. Denials,
 * errors and delegations keep theirs: there they are the message. */
#include "dns/resp_kind.h"
#include "server/query.h"
#include "server/setup.h"

static int minimal_parse(struct plugin_inst *self, struct setup *setup)
{
	(void)self;
	for (size_t i = 0; i < setup->n_dir; i++) {
		const struct corefile_dir *d = setup->dir[i];
		if (d->n_arg != 0)
			return setup_error(setup, d->arg[0].pos, "minimal takes no arguments");
		if (d->n_body != 0)
			return setup_error(setup, d->body[0].name.pos, "minimal takes no options");
	}
	return 0;
}

static enum verdict minimal_respond(struct plugin_inst *self, struct query *q)
{
	struct dns_resp *r = &q->resp;
	(void)self;
	if (q->outcome != V_ANSWERED || dns_resp_kind(r, q->req.qtype) != DNS_KIND_NOERROR)
		return V_NEXT;
	if (r->count[DNS_AUTHORITY] != 0 || r->count[DNS_ADDITIONAL] != 0) {
		/* Without memory to open the reply it is sent whole. */
		if (dns_resp_thaw(r, &q->arena) < 0)
			return V_NEXT;
		dns_resp_clear(r, DNS_AUTHORITY);
		dns_resp_clear(r, DNS_ADDITIONAL);
	}
	/* Its OPT is one of the additional records; the server makes the one a client expects. */
	dns_resp_drop_opt(r);
	return V_NEXT;
}

const struct plugin minimal_plugin = {
	.name = "minimal",
	.parse = minimal_parse,
	.respond = minimal_respond,
};
