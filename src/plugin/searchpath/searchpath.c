/* SPDX-License-Identifier: GPL-3.0-or-later */
/* searchpath: whole search lists behind one suffix. A client whose only search domain is
 * ID.search.ZONE has its names looked up with each element of the list ID, and last on their own
 * (AMP-1, AMP-2). Each look-up enters the server as the client's own query for that name would: the
 * block of the name decides. The answer is the winner's, with a CNAME record to it in front. Lists
 * are those of `kubernetes` in the same block.
 *
 * An element has a name when it has an address or what was asked for. Names that exist without
 * either (a namespace's, say) do not end the walk, and are in the end no names (AMP-7). A failure
 * ends it: what a later element has is not the answer to the question. */
#include <string.h>

#include "base/err.h"
#include "plugin/shared/pathwalk.h"
#include "plugin/shared/servercount.h"
#include "server/setup.h"

enum { SOA_REFRESH_S = 7200, SOA_RETRY_S = 1800, SOA_EXPIRE_S = 86400, SOA_NUMBERS = 20 };

struct searchpath_conf {
	struct zone_list zones;
	uint8_t *zone_labels;
	const char *label;
	uint64_t ttl_s; /* of denials */
	struct plugin_inst *from;
};

static const struct metrics_family walks_family = {
	.name = "fairlead_searchpath_walks_total",
	.help = "Counter of questions that were looked up along a search list.",
	.kind = METRICS_COUNTER,
	.labels = { "server" },
};

/* clang-format off */
static const struct opt opts[] = {
	{ "<zones...>", OPT_LIST, 0, .args = "ZONE...", .help = "zones of the suffixes (default: those of the block)" },
	{ "label", OPT_STRING, offsetof(struct searchpath_conf, label), .def = "search", .args = "LABEL",
	  .help = "suffixes are ID.LABEL.ZONE" },
	{ "ttl", OPT_UINT, offsetof(struct searchpath_conf, ttl_s), 0, 3600, .def = "5", .args = "SECONDS",
	  .help = "TTL of denials" },
};
/* clang-format on */

static int searchpath_parse(struct plugin_inst *self, struct setup *setup)
{
	struct searchpath_conf *c = self->conf;
	const struct corefile_dir *d = setup->dir[0];
	struct opt_ctx ctx = { .arena = setup->arena, .conf = c, .user = setup, .err = setup->err };
	uint8_t wire[DNS_NAME_MAX];
	int r = setup_once(setup);
	if (r == 0)
		r = setup_zones(setup, d->arg, d->n_arg, &c->zones);
	if (r == 0)
		r = setup_zones_fit(setup, d->name.pos, &c->zones, SLICE("\12hostmaster"));
	if (r < 0)
		return r;
	opt_defaults(opts, ARRAY_LEN(opts), &ctx);
	r = setup_body(setup, d, opts, ARRAY_LEN(opts), c, setup);
	if (r < 0)
		return r;
	int n = dns_name_from_text(slice_of(c->label), wire);
	if (n < 2 || dns_name_labels(wire) != 1 || wire[0] != strlen(c->label))
		return setup_error(setup, d->name.pos, "'%s' is not one label of a name", c->label);
	c->zone_labels = arena_alloc(setup->arena, c->zones.n);
	for (size_t i = 0; i < c->zones.n; i++)
		c->zone_labels[i] = (uint8_t)dns_name_labels(c->zones.wire[i]);
	return 0;
}

static int searchpath_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	struct searchpath_conf *c = self->conf;
	c->from = block_find(self->block, "kubernetes");
	if (c->from == NULL || c->from->plugin->ops.search_by_id == NULL)
		return srcerr_set(prepare->err, self->pos,
				  "searchpath needs the lists of kubernetes in this server block");
	return 0;
}

/* ---- denials ---- */

static size_t append_bytes(uint8_t *out, size_t size, const void *text, size_t len)
{
	memcpy(out + size, text, len);
	return size + len;
}

/* With the SOA record of LABEL.ZONE, the part of the tree that is ours. */
static enum verdict deny_name(const struct searchpath_conf *conf, struct query *q, size_t zone,
			      uint16_t rcode)
{
	static const uint8_t mname[] = "\2ns\3dns", rname[] = "\12hostmaster";
	const uint8_t *z = conf->zones.wire[zone];
	uint8_t rdata[2 * (DNS_NAME_MAX + 16) + SOA_NUMBERS];
	unsigned own = q->qname.n_labels - conf->zone_labels[zone] - 1U;
	size_t n = 0, zone_n = dns_name_len(z);
	n = append_bytes(rdata, n, mname, sizeof(mname) - 1);
	n = append_bytes(rdata, n, z, zone_n);
	n = append_bytes(rdata, n, rname, sizeof(rname) - 1);
	n = append_bytes(rdata, n, z, zone_n);
	const uint32_t v[] = { 1, SOA_REFRESH_S, SOA_RETRY_S, SOA_EXPIRE_S, (uint32_t)conf->ttl_s };
	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		dns_put32(rdata + n + 4 * i, v[i]);
	n += SOA_NUMBERS;
	struct dns_rr rr = { .owner = q->req.qname + q->qname.label[own],
			     .type = DNS_TYPE_SOA,
			     .cls = DNS_CLASS_IN,
			     .ttl = (uint32_t)conf->ttl_s,
			     .rdata = arena_memdup(&q->arena, rdata, n),
			     .rdlen = (uint16_t)n };
	rr.owner_len = (uint8_t)dns_name_len(rr.owner);
	query_reply(q);
	q->resp.flags |= DNS_FLAG_AA;
	q->resp.rcode = rcode;
	if (rr.rdata == NULL || dns_resp_add(&q->resp, &q->arena, DNS_AUTHORITY, &rr) < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	return V_ANSWERED;
}

/* ---- queries ---- */

static enum verdict end_walk(struct plugin_inst *self, struct query *q,
			     const struct pathwalk *pathwalk, enum pathwalk_end how)
{
	const struct searchpath_conf *c = self->conf;
	bool there = how == PATHWALK_THERE || pathwalk->bare_is_empty;
	switch (how) {
	case PATHWALK_WAITS:
		return V_WAIT;
	case PATHWALK_FAILED:
		return V_FAIL;
	case PATHWALK_FOUND:
		return V_ANSWERED;
	case PATHWALK_THERE:
	case PATHWALK_NOTHING:
		break;
	}
	return deny_name(c, q, (size_t)zone_list_match(&c->zones, &q->qname),
			 there ? DNS_RCODE_NOERROR : DNS_RCODE_NXDOMAIN);
}

static struct slice label_at(const struct query *q, unsigned index)
{
	const uint8_t *l = q->qname.wire + q->qname.label[index];
	return (struct slice){ (const char *)l + 1, l[0] };
}

static enum verdict start_walk(struct plugin_inst *self, struct query *q, unsigned id,
			       const uint8_t **path, size_t len)
{
	struct pathwalk *w = query_state(q, self);
	if (w != NULL)
		w->path.v = arena_memdup(&q->arena, path, len * sizeof(*path));
	if (w == NULL || w->path.v == NULL)
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	w->path.n = len;
	w->base = q->qname.label[id];
	w->kind = SUB_WALK;
	w->strict = true;
	servercount_add(self, &walks_family, q);
	return end_walk(self, q, w, pathwalk_next(self, q, w));
}

/* A name inside a walk (of a list, a question or an alias) that would start another one. The walk goes
 * on without it, else each element could multiply the look-ups. No cache keeps this for clients who
 * ask for the name itself. */
static enum verdict end_nested(const struct searchpath_conf *conf, struct query *q, size_t zone)
{
	q->hit_limit = true;
	return deny_name(conf, q, zone, DNS_RCODE_NXDOMAIN);
}

static enum verdict searchpath_serve(struct plugin_inst *self, struct query *q)
{
	const struct searchpath_conf *c = self->conf;
	int zone = zone_list_match(&c->zones, &q->qname);
	const uint8_t *path[PATHWALK_MAX];
	if (zone < 0 || q->req.qclass != DNS_CLASS_IN)
		return V_NEXT;
	unsigned below = q->qname.n_labels - c->zone_labels[zone];
	if (below == 0 || !slice_eq_nocase(label_at(q, below - 1), slice_of(c->label)))
		return V_NEXT;
	if (below == 1)
		return deny_name(c, q, (size_t)zone, DNS_RCODE_NOERROR);
	int n = c->from->plugin->ops.search_by_id(c->from, q, label_at(q, below - 2), path,
						  ARRAY_LEN(path));
	if (n == 0 || below == 2)
		return deny_name(c, q, (size_t)zone,
				 n == 0 ? DNS_RCODE_NXDOMAIN : DNS_RCODE_NOERROR);
	return q->in_walk ? end_nested(c, q, (size_t)zone)
			  : start_walk(self, q, below - 2, path, (size_t)n);
}

static enum verdict searchpath_resume(struct plugin_inst *self, struct query *q)
{
	struct pathwalk *w = query_state(q, self);
	return end_walk(self, q, w, pathwalk_resume(self, q, w));
}

const struct plugin searchpath_plugin = {
	.name = "searchpath",
	.opts = opts,
	.n_opts = ARRAY_LEN(opts),
	.conf_size = sizeof(struct searchpath_conf),
	.state_size = sizeof(struct pathwalk),
	.parse = searchpath_parse,
	.prepare = searchpath_prepare,
	.worker_init = servercount_worker_init,
	.worker_done = servercount_worker_done,
	.serve = searchpath_serve,
	.resume = searchpath_resume,
};
