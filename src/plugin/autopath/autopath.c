/* autopath: follows a client's search path on the server. A name below the first element is looked
 * up, in the chain below, with each element in its place and then bare; the first reply that is not
 * NXDOMAIN is the answer, with a CNAME in front that leads from the name asked to the one found.
 *
 * Glossary: base = the labels of the name before the first element of the path. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/readfile.h"
#include "dns/resolvconf.h"
#include "dns/rrwalk.h"
#include "plugin/servercount.h"
#include "server/setup.h"

/* The replies to all look-ups of a query are kept until it is answered. */
enum { SEARCH_MAX = 64 };

struct path {
	const uint8_t **v; /* lower-case wire names; the last one is the root: the bare name */
	size_t n;
};

struct autopath_conf {
	struct arena *arena;
	struct zone_list zones;
	struct word file;   /* s NULL: none */
	struct word source; /* the plugin that knows the path, with its @; s NULL: none */
	struct path path;   /* of the file */
	struct plugin_inst *from;
};

struct autopath_state {
	struct path path;
	size_t at; /* element asked for */
	struct query *first;
};

static const struct metrics_family success_family = {
	.name = "coredns_autopath_success_total",
	.help = "Counter of requests that did autopath.",
	.kind = METRICS_COUNTER,
	.labels = { "server" },
};

/* ---- set-up ---- */

/* As in CoreDNS the last stanza's zones count, and a plugin is asked even if there is a file. */
static int autopath_parse(struct plugin_inst *self, struct setup *s)
{
	struct autopath_conf *c = self->conf;
	c->arena = s->arena;
	for (size_t i = 0; i < s->n_dir; i++) {
		const struct corefile_dir *d = s->dir[i];
		if (d->has_body)
			return setup_error(s, d->name.pos, "autopath takes no options");
		if (d->n_arg == 0)
			return setup_error(s, d->name.pos,
					   "expected a file such as /etc/resolv.conf, or @ and the "
					   "name of a plugin");
		const struct word *last = &d->arg[d->n_arg - 1];
		if (last->s[0] == '@')
			c->source = *last;
		else
			c->file = *last;
		int r = setup_zones(s, d->arg, d->n_arg - 1, &c->zones);
		if (r < 0)
			return r;
	}
	return 0;
}

static int take_search(struct autopath_conf *c, const struct dns_resolvconf *rc, struct srcerr *err)
{
	if (rc->n_search >= SEARCH_MAX)
		return srcerr_set(err, c->file.pos, "'%s' has more than %d search elements",
				  c->file.s, SEARCH_MAX - 1);
	c->path.v = arena_alloc(c->arena, (rc->n_search + 1) * sizeof(*c->path.v));
	c->path.n = 0;
	for (size_t i = 0; i < rc->n_search; i++) {
		uint8_t name[DNS_NAME_MAX];
		int n = dns_name_from_text(slice_of(rc->search[i]), name);
		if (n < 0)
			return srcerr_set(err, c->file.pos,
					  "search element '%s' of '%s' is not a domain name",
					  rc->search[i], c->file.s);
		dns_name_lower(name, name);
		c->path.v[c->path.n++] = arena_memdup(c->arena, name, (size_t)n);
	}
	c->path.v[c->path.n++] = dns_name_root;
	return 0;
}

static int read_file(struct autopath_conf *c, struct srcerr *err)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct dns_resolvconf rc = { 0 };
	int r = readfile_path(c->file.s, DNS_RESOLVCONF_BYTES_MAX, 0, &text);
	if (r == 0)
		r = dns_resolvconf_parse(strbuf_slice(&text), c->arena, &rc);
	if (r < 0)
		return srcerr_set(err, c->file.pos, "cannot read '%s': %s", c->file.s, err_str(r));
	return take_search(c, &rc, err);
}

static int find_source(struct plugin_inst *self, struct srcerr *err)
{
	struct autopath_conf *c = self->conf;
	const char *name = c->source.s + 1;
	c->from = block_find(self->block, name);
	if (c->from == NULL)
		return srcerr_set(err, c->source.pos, "no plugin '%s' in this server block", name);
	if (c->from->plugin->ops.search_for_client == NULL)
		return srcerr_set(err, c->source.pos, "plugin '%s' knows no search paths", name);
	return 0;
}

static int autopath_prepare(struct plugin_inst *self, struct prepare *p)
{
	struct autopath_conf *c = self->conf;
	int r = 0;
	if (c->file.s != NULL)
		r = read_file(c, p->err);
	if (r == 0 && c->source.s != NULL)
		r = find_source(self, p->err);
	return r;
}

/* ---- queries ---- */

/* The path for this client; n is 0 where there is none. */
static struct path path_for(const struct autopath_conf *c, struct query *q)
{
	if (c->from == NULL)
		return c->path;
	const uint8_t *v[SEARCH_MAX];
	int n = c->from->plugin->ops.search_for_client(c->from, q, v, ARRAY_LEN(v));
	struct path p = { 0 };
	if (n > 0)
		p.v = arena_memdup(&q->arena, v, (size_t)n * sizeof(*v));
	p.n = p.v != NULL ? (size_t)n : 0;
	return p;
}

/* Bytes of the base. */
static size_t base_len(const struct query *q, const struct path *p)
{
	return dns_name_len(q->req.qname) - dns_name_len(p->v[0]);
}

/* Asks for the next element that gives a name; without one it is over, and the first reply stays.
 */
static enum verdict ask_next(struct plugin_inst *self, struct query *q, struct autopath_state *st)
{
	uint8_t name[DNS_NAME_MAX];
	size_t base = base_len(q, &st->path);
	for (; st->at < st->path.n; st->at++) {
		const uint8_t *suffix = st->path.v[st->at];
		size_t n = dns_name_len(suffix);
		if (base + n > DNS_NAME_MAX)
			continue;
		memcpy(name, q->req.qname, base);
		memcpy(name + base, suffix, n);
		if (query_sub(q, self, SUB_BELOW, name, q->req.qtype) < 0)
			return query_fail(q, DNS_RCODE_SERVFAIL, "autopath: too many look-ups");
		return V_WAIT;
	}
	if (st->first->outcome == V_FAIL)
		return query_fail(q, st->first->rcode, st->first->err);
	if (st->first->outcome != V_ANSWERED)
		return V_DROP;
	q->resp = st->first->resp;
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
	struct path p = path_for(c, q);
	if (p.n == 0 || !dns_name_is_below(q->qname.wire, p.v[0]))
		return V_NEXT;
	if (base_len(q, &p) == 0)
		return nothing_before(q);
	struct autopath_state *st = query_state(q, self);
	if (st == NULL)
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	st->path = p;
	return ask_next(self, q, st);
}

/* In front of the first record of another owner than the name asked: a CNAME to it. */
static int put_cname(struct query *q, struct dns_resp *r)
{
	struct dns_rrwalk w;
	uint8_t name[DNS_NAME_MAX];
	dns_rrwalk_init(&w, r);
	for (;;) {
		if (!dns_rrwalk_next(&w) || w.of != DNS_ANSWER)
			return 0;
		if (dns_rrwalk_owner(&w, name) < 0)
			return ERR_PARSE;
		if (!dns_name_eq(name, q->req.qname))
			break;
	}
	struct dns_rr *rr = arena_alloc(&q->arena, sizeof(*rr));
	size_t n = dns_name_len(name);
	uint8_t *target = arena_memdup(&q->arena, name, n);
	if (rr == NULL || target == NULL || dns_resp_thaw(r, &q->arena) < 0)
		return ERR_SPACE;
	*rr = (struct dns_rr){
		.next = r->first[DNS_ANSWER],
		.owner = q->req.qname,
		.owner_len = (uint8_t)dns_name_len(q->req.qname),
		.type = DNS_TYPE_CNAME,
		.cls = DNS_CLASS_IN,
		.ttl = w.ttl,
		.rdata = target,
		.rdlen = (uint16_t)n,
	};
	r->first[DNS_ANSWER] = rr;
	r->count[DNS_ANSWER]++;
	return 0;
}

/* The server completed the reply with an OPT for the client; that is done again for ours. */
static void take_reply(struct query *sub)
{
	if (!sub->written || sub->own_opt)
		return;
	sub->resp.has_opt = sub->resp.opt_do = false;
	sub->resp.options = NULL;
	sub->resp.options_len = 0;
	sub->resp.opt_z = 0;
}

/* The first reply may be sent after all, when others were waited for. */
static int keep_first(struct query *q, struct autopath_state *st, struct query *sub)
{
	if (st->first != NULL)
		return 0;
	st->first = sub;
	return sub->outcome == V_ANSWERED ? dns_resp_own(&sub->resp, &q->arena) : 0;
}

static enum verdict autopath_resume(struct plugin_inst *self, struct query *q)
{
	struct autopath_state *st = query_state(q, self);
	struct query *sub = q->sub;
	if (sub->outcome == V_FAIL && sub->err != NULL)
		return query_fail(q, sub->rcode, sub->err);
	take_reply(sub);
	bool found = sub->outcome == V_ANSWERED && sub->resp.rcode != DNS_RCODE_NXDOMAIN;
	int r = found ? put_cname(q, &sub->resp) : keep_first(q, st, sub);
	if (r < 0)
		return query_fail(q, DNS_RCODE_SERVFAIL, "out of query memory");
	if (!found) {
		st->at++;
		return ask_next(self, q, st);
	}
	q->resp = sub->resp;
	servercount_add(self, &success_family, q);
	return V_ANSWERED;
}

const struct plugin autopath_plugin = {
	.name = "autopath",
	.conf_size = sizeof(struct autopath_conf),
	.state_size = sizeof(struct autopath_state),
	.parse = autopath_parse,
	.prepare = autopath_prepare,
	.worker_init = servercount_worker_init,
	.worker_done = servercount_worker_done,
	.serve = autopath_serve,
	.resume = autopath_resume,
};
