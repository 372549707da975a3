/* SPDX-License-Identifier: GPL-3.0-or-later */
/* records: answers for names of DNSRecord objects whose type is `local`. It stands before the cache, so
 * that neither a kept answer nor a kept denial outlives a change of an object. Other names pass. */
#include "base/err.h"
#include "dns/types.h"
#include "plugin/records/answer.h"
#include "plugin/records/store.h"
#include "plugin/records/table.h"
#include "server/query.h"
#include "server/resource.h"
#include "server/setup.h"

struct records_conf {
	const struct records_table *table; /* prepare: that of `held` */
	struct resource *held;

	struct zone_list zones, except; /* the second may be empty */
	const char *kubeconfig, *context;
	const char *endpoint, *cert, *key, *ca;
	const char *ns; /* NULL: all */
	uint64_t max;
};

/* ---- parsing ---- */

#define F(name) offsetof(struct records_conf, name)

enum { ZONES_MAX = 256 };

static int parse_kubeconfig(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct records_conf *c = ctx->conf;
	c->kubeconfig = arena_strdup(ctx->arena, line->arg[0].s);
	c->context = line->n_arg > 1 ? arena_strdup(ctx->arena, line->arg[1].s) : NULL;
	return 0;
}

static int parse_tls(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct records_conf *c = ctx->conf;
	c->cert = arena_strdup(ctx->arena, line->arg[0].s);
	c->key = arena_strdup(ctx->arena, line->arg[1].s);
	c->ca = arena_strdup(ctx->arena, line->arg[2].s);
	return 0;
}

static int parse_except(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct records_conf *c = ctx->conf;
	return setup_zones(ctx->user, line->arg, line->n_arg, &c->except);
}

/* clang-format off */
static const struct opt records_opts[] = {
	{ "<zones...>", OPT_LIST, 0, .args = "ZONE...",
	  .help = "zones whose names are answered (default: those of the block)" },
	{ "except", OPT_FN, 0, 1, ZONES_MAX, .fn = parse_except, .args = "ZONE...",
	  .help = "zones whose names are never answered, such as the cluster's own" },
	{ "endpoint", OPT_STRING, F(endpoint), .args = "URL", .help = "the API server (default: that of the pod's cluster)" },
	{ "tls", OPT_FN, 0, 3, 3, .fn = parse_tls, .args = "CERT KEY CA", .help = "client certificate, key and CA, with endpoint" },
	{ "kubeconfig", OPT_FN, 0, 1, 2, .fn = parse_kubeconfig, .args = "FILE [CONTEXT]",
	  .help = "kubeconfig with the API server and the credentials; overrides endpoint" },
	{ "namespace", OPT_STRING, F(ns), .args = "NAMESPACE", .help = "where DNSRecord objects are (default: all namespaces)" },
	{ "max_records", OPT_UINT, F(max), 1, 1000000, .def = "100000", .args = "NUMBER", .help = "objects that are served" },
};
/* clang-format on */

static int records_parse(struct plugin_inst *self, struct setup *setup)
{
	struct records_conf *c = self->conf;
	const struct corefile_dir *dir = setup->dir[0];
	struct opt_ctx ctx = { .arena = setup->arena, .conf = c, .user = setup, .err = setup->err };
	int r = setup_once(setup);
	if (r < 0)
		return r;
	opt_defaults(records_opts, ARRAY_LEN(records_opts), &ctx);
	r = setup_zones(setup, dir->arg, dir->n_arg, &c->zones);
	if (r < 0)
		return r;
	r = setup_body(setup, dir, records_opts, ARRAY_LEN(records_opts), c, setup);
	if (r == 0 && c->cert != NULL && c->endpoint == NULL)
		return setup_error(setup, dir->name.pos, "'tls' needs 'endpoint'");
	return r;
}

/* ---- life ---- */

static int records_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	struct records_conf *c = self->conf;
	char reason[512] = "";
	if (prepare->dry)
		return 0;
	struct records_store_conf conf = { .kubeconfig = c->kubeconfig,
					   .context = c->context,
					   .endpoint = c->endpoint,
					   .cert = c->cert,
					   .key = c->key,
					   .ca = c->ca,
					   .ns = c->ns,
					   .max = (size_t)c->max };
	int r = records_store_get(&conf, &c->held, ERR_TEXT(reason));
	if (r < 0)
		return srcerr_set(prepare->err, self->pos, "records: %s",
				  reason[0] != '\0' ? reason : err_str(r));
	c->table = records_store_table(c->held);
	return 0;
}

static void records_teardown(struct plugin_inst *self)
{
	struct records_conf *c = self->conf;
	resource_put(c->held);
	c->held = NULL;
}

static bool records_ready(struct plugin_inst *self)
{
	const struct records_conf *c = self->conf;
	return records_store_is_ready(c->held);
}

/* ---- queries ---- */

/* The questions that records can answer: no transfers, nothing but QUERY. */
static bool is_answered(const struct records_conf *conf, const struct query *q)
{
	bool is_meta = q->req.qtype >= DNS_TYPE_TSIG && q->req.qtype < DNS_TYPE_ANY;
	return q->req.opcode == 0 && q->req.qclass == DNS_CLASS_IN && !is_meta &&
	       zone_list_match(&conf->zones, &q->qname) >= 0 &&
	       (conf->except.n == 0 || zone_list_match(&conf->except, &q->qname) < 0);
}

static NOINLINE enum verdict answer_query(struct plugin_inst *self, struct query *q)
{
	const struct records_conf *c = self->conf;
	struct records_hit hit;
	if (!records_table_find(c->table, &q->qname, &hit) || !is_answered(c, q))
		return V_NEXT;
	return records_answer(self, q, c->table, &hit);
}

/* Most queries pass, and pay for one look-up. */
static enum verdict records_serve(struct plugin_inst *self, struct query *q)
{
	const struct records_conf *c = self->conf;
	return records_table_may_have(c->table, &q->qname) ? answer_query(self, q) : V_NEXT;
}

const struct plugin records_plugin = {
	.name = "records",
	.opts = records_opts,
	.n_opts = ARRAY_LEN(records_opts),
	.conf_size = sizeof(struct records_conf),
	.parse = records_parse,
	.prepare = records_prepare,
	.teardown = records_teardown,
	.serve = records_serve,
	.resume = records_answer_resume,
	.ops = { .ready = records_ready },
};
