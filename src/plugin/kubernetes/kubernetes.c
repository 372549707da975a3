/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kubernetes: names of a cluster's Services, endpoints and pods, as CoreDNS answers for them. This
 * file chooses who answers, by the type of the question and what find.c found. */
#include "plugin/kubernetes/kubernetes.h"

#include "plugin/kubernetes/addr.h"
#include "plugin/kubernetes/apex.h"
#include "plugin/kubernetes/external_name.h"
#include "plugin/kubernetes/external_services.h"
#include "plugin/kubernetes/find.h"
#include "plugin/kubernetes/metadata.h"
#include "plugin/kubernetes/reply.h"
#include "plugin/kubernetes/reverse.h"
#include "plugin/kubernetes/search_path.h"
#include "plugin/kubernetes/setup.h"
#include "plugin/kubernetes/source.h"
#include "plugin/kubernetes/srv.h"
#include "plugin/kubernetes/xfr.h"

static void kubernetes_teardown(struct plugin_inst *self)
{
	struct kubernetes_conf *c = self->conf;
	kubernetes_source_put(c);
	kubernetes_host_search_free(c);
	map_done(&c->listed);
}

static int kubernetes_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	struct kubernetes_conf *c = self->conf;
	if (prepare->dry)
		return 0;
	for (size_t i = 0; i < c->namespaces.n; i++)
		map_set(&c->listed, slice_of(c->namespaces.v[i]->s), NULL);
	kubernetes_host_search_read(c, "/etc/resolv.conf");
	int r = kubernetes_source_get(self, prepare);
	if (r == 0 && kubernetes_source_wait(c->source, c->startup_ns) < 0)
		r = srcerr_set(prepare->err, self->pos,
			       "kubernetes: stopped while waiting for the API server");
	if (r < 0)
		kubernetes_teardown(self);
	return r;
}

static void kubernetes_commit(struct plugin_inst *self)
{
	const struct kubernetes_conf *c = self->conf;
	kubernetes_source_use(c->source);
}

static bool kubernetes_ready(struct plugin_inst *self)
{
	const struct kubernetes_conf *c = self->conf;
	return kubernetes_source_usable(c->source);
}

enum verdict kubernetes_no_name(struct plugin_inst *self, struct query *q, size_t zone)
{
	const struct kubernetes_conf *c = self->conf;
	if (fallthrough_covers(&c->fall, &q->qname))
		return V_NEXT;
	return kubernetes_reply_soa(c, q, zone,
				    kubernetes_source_usable(c->source) ? DNS_RCODE_NXDOMAIN
									: DNS_RCODE_SERVFAIL);
}

static bool collect_address(void *ctx, const struct kubernetes_hit *hit)
{
	kubernetes_addrs_add(ctx, hit->ip);
	return true;
}

static bool stop_at_first(void *ctx, const struct kubernetes_hit *hit)
{
	(void)ctx;
	(void)hit;
	return false;
}

static enum verdict serve_address(struct plugin_inst *self, struct query *q, size_t zone)
{
	const struct kubernetes_conf *c = self->conf;
	struct kubernetes_find f;
	struct kubernetes_addrs a;
	kubernetes_addrs_init(&a, q, q->req.qtype);
	enum kubernetes_found found = kubernetes_find(&f, c, &q->qname, zone, collect_address, &a);
	if (f.parsed.what == KUBERNETES_NS_HOST)
		return kubernetes_serve_ns_host(self, q, zone);
	if (found == KUBERNETES_NXDOMAIN)
		return kubernetes_no_name(self, q, zone);
	if (f.external != NULL)
		return kubernetes_serve_external(self, q, zone, f.external);
	return a.set.n != 0 ? kubernetes_addrs_reply(c, q, &a)
			    : kubernetes_reply_soa(c, q, zone, DNS_RCODE_NOERROR);
}

static enum verdict serve_version(const struct kubernetes_conf *conf, struct query *q)
{
	static const uint8_t text[] = "\0051.1.0";
	enum { VERSION_TTL_S = 28800 };
	kubernetes_reply_open(q);
	kubernetes_reply_add(conf, q, DNS_ANSWER, q->req.qname, DNS_TYPE_TXT, text,
			     sizeof(text) - 1);
	if (q->resp.first[DNS_ANSWER] != NULL)
		q->resp.first[DNS_ANSWER]->ttl = VERSION_TTL_S;
	return V_ANSWERED;
}

static bool note_hit(void *ctx, const struct kubernetes_hit *hit)
{
	(void)hit;
	*(bool *)ctx = true;
	return false;
}

/* Only what has records of another type is known to TXT: not the names between, nor imported
 * Services without addresses. */
static enum verdict serve_txt(struct plugin_inst *self, struct query *q, size_t zone)
{
	const struct kubernetes_conf *c = self->conf;
	struct kubernetes_find f;
	bool any = false;
	enum kubernetes_found found = kubernetes_find(&f, c, &q->qname, zone, note_hit, &any);
	if (f.parsed.what == KUBERNETES_VERSION)
		return serve_version(c, q);
	if (found == KUBERNETES_EXISTS && (any || !c->is_multicluster[zone]) &&
	    (f.parsed.what == KUBERNETES_SERVICE || f.parsed.what == KUBERNETES_POD))
		return kubernetes_reply_soa(c, q, zone, DNS_RCODE_NOERROR);
	return kubernetes_no_name(self, q, zone);
}

/* Types that no name has: is the name there at all? */
static enum verdict serve_other(struct plugin_inst *self, struct query *q, size_t zone)
{
	const struct kubernetes_conf *c = self->conf;
	struct kubernetes_find f;
	enum kubernetes_found found = kubernetes_find(&f, c, &q->qname, zone, stop_at_first, NULL);
	if (f.parsed.what == KUBERNETES_NS_HOST)
		return kubernetes_serve_ns_host(self, q, zone);
	if (found == KUBERNETES_NXDOMAIN)
		return kubernetes_no_name(self, q, zone);
	if (f.external != NULL && q->req.qtype == DNS_TYPE_CNAME)
		return kubernetes_serve_external(self, q, zone, f.external);
	return kubernetes_reply_soa(c, q, zone, DNS_RCODE_NOERROR);
}

static enum verdict serve_soa(struct plugin_inst *self, struct query *q, size_t zone)
{
	const struct kubernetes_conf *c = self->conf;
	if (q->qname.n_labels == c->zone_labels[zone])
		return kubernetes_answer_soa(c, q, zone);
	return kubernetes_reply_soa(c, q, zone, DNS_RCODE_NOERROR);
}

static enum verdict serve_ns(struct plugin_inst *self, struct query *q, size_t zone)
{
	const struct kubernetes_conf *c = self->conf;
	return q->qname.n_labels == c->zone_labels[zone] ? kubernetes_serve_ns(self, q, zone)
							 : serve_other(self, q, zone);
}

static enum verdict serve_srv(struct plugin_inst *self, struct query *q, size_t zone)
{
	return kubernetes_serve_srv(self, q, zone);
}

static enum verdict refuse_query(struct plugin_inst *self, struct query *q, size_t zone)
{
	(void)self;
	(void)zone;
	return query_fail(q, DNS_RCODE_REFUSED, NULL);
}

static const struct {
	uint16_t type;
	enum verdict (*serve)(struct plugin_inst *self, struct query *q, size_t zone);
} by_type[] = {
	{ DNS_TYPE_A, serve_address },	 { DNS_TYPE_AAAA, serve_address },
	{ DNS_TYPE_SRV, serve_srv },	 { DNS_TYPE_PTR, kubernetes_serve_ptr },
	{ DNS_TYPE_TXT, serve_txt },	 { DNS_TYPE_SOA, serve_soa },
	{ DNS_TYPE_NS, serve_ns },	 { DNS_TYPE_AXFR, refuse_query },
	{ DNS_TYPE_IXFR, refuse_query },
};

static enum verdict kubernetes_serve(struct plugin_inst *self, struct query *q)
{
	const struct kubernetes_conf *c = self->conf;
	int zone = zone_list_match(&c->zones, &q->qname);
	if (zone < 0)
		return V_NEXT;
	for (size_t i = 0; i < ARRAY_LEN(by_type); i++) {
		if (by_type[i].type == q->req.qtype)
			return by_type[i].serve(self, q, (size_t)zone);
	}
	return serve_other(self, q, (size_t)zone);
}

const struct plugin kubernetes_plugin = {
	.name = "kubernetes",
	.conf_size = sizeof(struct kubernetes_conf),
	.opts = kubernetes_opts,
	.n_opts = KUBERNETES_N_OPTS,
	.state_size = sizeof(struct kubernetes_chain),
	.parse = kubernetes_parse,
	.prepare = kubernetes_prepare,
	.commit = kubernetes_commit,
	.teardown = kubernetes_teardown,
	.serve = kubernetes_serve,
	.resume = kubernetes_resume_external,
	.ops = { .ready = kubernetes_ready,
		 .metadata = kubernetes_metadata,
		 .has_zone = kubernetes_has_zone,
		 .copy_zone = kubernetes_copy_zone,
		 .search_for_client = kubernetes_search_for_client,
		 .search_by_id = kubernetes_search_by_id,
		 .offer = kubernetes_interface },
};
