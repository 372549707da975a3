/* SPDX-License-Identifier: GPL-3.0-or-later */
/* nsid: names the server (RFC 5001) in replies to clients that ask for it by EDNS. */
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "server/query.h"
#include "server/setup.h"

enum { EDNS_CODE_NSID = 3, NSID_MAX_BYTES = 512, HOST_MAX = 256 };

struct nsid_conf {
	struct opt_list words;
	const char *data;
	uint16_t n;
};

struct nsid_state {
	bool asked;
};

static const struct opt nsid_opts[] = {
	{ "<data>", OPT_LIST, offsetof(struct nsid_conf, words), .args = "TEXT...",
	  .help = "identifier to return (default: the host name)" },
};

static const char *host_name(struct arena *arena)
{
	char host[HOST_MAX] = "";
	if (gethostname(host, sizeof(host) - 1) < 0)
		return "localhost";
	return arena_strdup(arena, host);
}

static int nsid_parse(struct plugin_inst *self, struct setup *setup)
{
	struct nsid_conf *c = self->conf;
	int r = setup_once(setup);
	if (r == 0)
		r = setup_options(setup, setup->dir[0], nsid_opts, ARRAY_LEN(nsid_opts), c, NULL);
	if (r < 0)
		return r;
	c->data = c->words.n == 0 ? host_name(setup->arena) : c->words.v[0]->s;
	for (size_t i = 1; i < c->words.n; i++)
		c->data = arena_printf(setup->arena, "%s %s", c->data, c->words.v[i]->s);
	size_t n = strlen(c->data);
	if (n > NSID_MAX_BYTES)
		return setup_error(setup, setup->dir[0]->arg[0].pos, "nsid: more than %d bytes",
				   NSID_MAX_BYTES);
	c->n = (uint16_t)n;
	return 0;
}

static bool asks_for_nsid(const struct dns_opt *dns_opt)
{
	struct dns_option opt;
	size_t pos = 0;
	while (dns_option_next(dns_opt, &pos, &opt)) {
		if (opt.code == EDNS_CODE_NSID)
			return true;
	}
	return false;
}

/* What the client asked is kept, as plugins below may change the request's options. */
static enum verdict nsid_serve(struct plugin_inst *self, struct query *q)
{
	if (!q->req.opt.present || q->req.opt.options_len == 0 || !asks_for_nsid(&q->req.opt))
		return V_NEXT;
	struct nsid_state *st = query_state(q, self);
	if (st != NULL)
		st->asked = true;
	return V_NEXT;
}

/* An upstream's own NSID must not stay beside ours: all options but that one are kept. */
static int drop_theirs(struct query *q)
{
	struct dns_resp *r = &q->resp;
	struct dns_opt had = { .options = r->options, .options_len = r->options_len };
	struct dns_option o;
	size_t pos = 0;
	if (!asks_for_nsid(&had))
		return 0;
	dns_resp_drop_options(r);
	while (dns_option_next(&had, &pos, &o)) {
		if (o.code != EDNS_CODE_NSID &&
		    dns_resp_option(r, &q->arena, o.code, o.data, o.len) < 0)
			return ERR_SPACE;
	}
	return 0;
}

static enum verdict nsid_respond(struct plugin_inst *self, struct query *q)
{
	const struct nsid_conf *c = self->conf;
	if (!q->req.opt.present || q->outcome != V_ANSWERED)
		return V_NEXT;
	const struct nsid_state *st = query_state(q, self);
	if (st == NULL || !st->asked)
		return V_NEXT;
	bool own = q->resp.has_opt;
	if (drop_theirs(q) < 0 ||
	    dns_resp_option(&q->resp, &q->arena, EDNS_CODE_NSID, c->data, c->n) < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	if (!own)
		q->resp.opt_do = true; /* CoreDNS makes its OPT with DO set */
	return V_NEXT;
}

const struct plugin nsid_plugin = {
	.name = "nsid",
	.opts = nsid_opts,
	.n_opts = ARRAY_LEN(nsid_opts),
	.conf_size = sizeof(struct nsid_conf),
	.state_size = sizeof(struct nsid_state),
	.parse = nsid_parse,
	.serve = nsid_serve,
	.respond = nsid_respond,
};
