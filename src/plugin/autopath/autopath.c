/* SPDX-License-Identifier: GPL-3.0-or-later */
/* autopath: follows a client's search path on the server. A name below the first element is looked
 * up, in the chain below, with each element in its place and then bare; the first reply that is not
 * NXDOMAIN is the answer, with a CNAME in front that leads from the name asked to the one found. */
#include <assert.h>
#include <errno.h>

#include "base/err.h"
#include "base/readfile.h"
#include "dns/resolvconf.h"
#include "plugin/shared/pathwalk.h"
#include "plugin/shared/servercount.h"
#include "server/setup.h"

struct autopath_conf {
	struct arena *arena;
	struct zone_list zones;
	struct word file;	   /* s NULL: none */
	struct word source;	   /* the plugin that knows the path, with its @; s NULL: none */
	struct pathwalk_path path; /* of the file */
	struct plugin_inst *from;
};

static const struct metrics_family success_family = {
	.name = "coredns_autopath_success_total",
	.help = "Counter of requests that did autopath.",
	.kind = METRICS_COUNTER,
	.labels = { "server" },
};

/* ---- set-up ---- */

/* As in CoreDNS the last stanza's zones count, and a plugin is asked even if there is a file. */
static int autopath_parse(struct plugin_inst *self, struct setup *setup)
{
	struct autopath_conf *c = self->conf;
	c->arena = setup->arena;
	for (size_t i = 0; i < setup->n_dir; i++) {
		const struct corefile_dir *d = setup->dir[i];
		if (d->has_body)
			return setup_error(setup, d->name.pos, "autopath takes no options");
		if (d->n_arg == 0)
			return setup_error(setup, d->name.pos,
					   "expected a file such as /etc/resolv.conf, or @ and the "
					   "name of a plugin");
		const struct word *last = &d->arg[d->n_arg - 1];
		if (last->s[0] == '@')
			c->source = *last;
		else
			c->file = *last;
		int r = setup_zones(setup, d->arg, d->n_arg - 1, &c->zones);
		if (r < 0)
			return r;
	}
	return 0;
}

static int take_search(struct autopath_conf *conf, const struct dns_resolvconf *rc,
		       struct srcerr *err)
{
	if (rc->n_search >= PATHWALK_MAX)
		return srcerr_set(err, conf->file.pos, "'%s' has more than %d search elements",
				  conf->file.s, PATHWALK_MAX - 1);
	conf->path.v = arena_alloc(conf->arena, (rc->n_search + 1) * sizeof(*conf->path.v));
	conf->path.n = 0;
	for (size_t i = 0; i < rc->n_search; i++) {
		uint8_t name[DNS_NAME_MAX];
		int n = dns_name_from_text(slice_of(rc->search[i]), name);
		if (n < 0)
			return srcerr_set(err, conf->file.pos,
					  "search element '%s' of '%s' is not a domain name",
					  rc->search[i], conf->file.s);
		dns_name_lower(name, name);
		conf->path.v[conf->path.n++] = arena_memdup(conf->arena, name, (size_t)n);
	}
	conf->path.v[conf->path.n++] = dns_name_root;
	return 0;
}

static int read_file(struct autopath_conf *conf, struct srcerr *err)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct dns_resolvconf rc = { 0 };
	int r = readfile_path(conf->file.s, DNS_RESOLVCONF_BYTES_MAX, 0, &text);
	if (r == 0)
		r = dns_resolvconf_parse(strbuf_slice(&text), conf->arena, &rc);
	if (r < 0)
		return srcerr_set(err, conf->file.pos, "cannot read '%s': %s", conf->file.s,
				  err_str(r));
	return take_search(conf, &rc, err);
}

static int find_source(struct plugin_inst *self, struct srcerr *err)
{
	struct autopath_conf *c = self->conf;
	const char *name = c->source.s + 1;
	c->from = block_find(self->block, name);
	if (c->from == NULL)
		return srcerr_set(err, c->source.pos, "no plugin '%s' in this server block", name);
	if (c->from->plugin->ops.search_for_client == NULL)
		return srcerr_set(err, c->source.pos, "plugin '%s' does not provide search paths",
				  name);
	return 0;
}

static int autopath_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	struct autopath_conf *c = self->conf;
	int r = 0;
	if (c->file.s != NULL)
		r = read_file(c, prepare->err);
	if (r == 0 && c->source.s != NULL)
		r = find_source(self, prepare->err);
	return r;
}

/* ---- queries ---- */

/* The path for this client; n is 0 where there is none. */
static struct pathwalk_path path_for(const struct autopath_conf *conf, struct query *q)
{
	if (conf->from == NULL)
		return conf->path;
	const uint8_t *v[PATHWALK_MAX];
	int n = conf->from->plugin->ops.search_for_client(conf->from, q, v, ARRAY_LEN(v));
	struct pathwalk_path p = { 0 };
	if (n > 0)
		p.v = arena_memdup(&q->arena, v, (size_t)n * sizeof(*v));
	p.n = p.v != NULL ? (size_t)n : 0;
	return p;
}

static enum verdict end_walk(struct plugin_inst *self, struct query *q,
			     const struct pathwalk *pathwalk, enum pathwalk_end how)
{
	const struct query *like = how == PATHWALK_THERE ? pathwalk->here : pathwalk->first;
	switch (how) {
	case PATHWALK_WAITS:
		return V_WAIT;
	case PATHWALK_FAILED:
		return V_FAIL;
	case PATHWALK_FOUND:
		servercount_add(self, &success_family, q);
		return V_ANSWERED;
	case PATHWALK_THERE:
	case PATHWALK_NOTHING:
		break;
	}
	/* The first element always forms a name: the question itself. */
	assert(like != NULL);
	if (like->outcome == V_FAIL)
		return query_fail(q, like->rcode, like->err);
	if (like->outcome != V_ANSWERED)
		return V_DROP;
	q->resp = like->resp;
	if (how == PATHWALK_THERE)
		q->resp.rcode = DNS_RCODE_NOERROR;
	return V_ANSWERED;
}

/* CoreDNS fails in these words; there is nothing a client could search for. */
static enum verdict nothing_before(struct query *q)
{
	char text[DNS_NAME_TEXT_MAX];
	dns_name_to_text(q->req.qname, false, text);
	return query_failf(q, DNS_RCODE_SERVFAIL, "trimzone: overshot qname: %sfor zone %s", text,
			   query_name_text(q).p);
}

static enum verdict autopath_serve(struct plugin_inst *self, struct query *q)
{
	const struct autopath_conf *c = self->conf;
	if (zone_list_match(&c->zones, &q->qname) < 0)
		return V_NEXT;
	struct pathwalk_path p = path_for(c, q);
	if (p.n == 0 || !dns_name_is_below(q->qname.wire, p.v[0]))
		return V_NEXT;
	size_t base = dns_name_len(q->req.qname) - dns_name_len(p.v[0]);
	if (base == 0)
		return nothing_before(q);
	struct pathwalk *w = query_state(q, self);
	if (w == NULL)
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	w->path = p;
	w->base = base;
	w->kind = SUB_BELOW; /* as in CoreDNS */
	return end_walk(self, q, w, pathwalk_next(self, q, w));
}

static enum verdict autopath_resume(struct plugin_inst *self, struct query *q)
{
	struct pathwalk *w = query_state(q, self);
	return end_walk(self, q, w, pathwalk_resume(self, q, w));
}

const struct plugin autopath_plugin = {
	.name = "autopath",
	.renames = true,
	.conf_size = sizeof(struct autopath_conf),
	.state_size = sizeof(struct pathwalk),
	.parse = autopath_parse,
	.prepare = autopath_prepare,
	.worker_init = servercount_worker_init,
	.worker_done = servercount_worker_done,
	.serve = autopath_serve,
	.resume = autopath_resume,
};
