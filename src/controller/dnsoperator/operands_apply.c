/* Applies what runs a cluster's DNS: only what is not as it was applied, so that a settled operator
 * writes nothing. The objects that servers need at once are watched; the others, roles and accounts
 * mostly, are read again from time to time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "controller/dnsoperator/drift.h"
#include "controller/dnsoperator/look_priv.h"
#include "controller/dnsoperator/objects.h"
#include "controller/dnsoperator/operands.h"
#include "kube/tree.h"

/* What is not watched is read: after this time, and not more often than that, however often the DNS
 * object is looked at. */
enum { AGAIN_S = 60, READ_S = 10 };

/* What was applied last, by this process. */
struct memory {
	char *key;     /* "DaemonSet openshift-dns/dns-default" */
	char *hash;    /* of the annotation */
	char *version; /* what the server made of it */
	uint64_t read_ns;
	struct dnsoperator_seen seen; /* how often it was put right */
};

struct dnsoperator_operands_state {
	VEC(struct memory) memory; /* only the worker that has the DNS object's key */
	char *left_out;		   /* what was told already */
	bool ignored;
};

struct dnsoperator_operands_state *dnsoperator_operands_state_new(void)
{
	return xcalloc(1, sizeof(struct dnsoperator_operands_state));
}

void dnsoperator_operands_state_free(struct dnsoperator_operands_state *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->memory.n; i++) {
		free(s->memory.v[i].key);
		free(s->memory.v[i].hash);
		free(s->memory.v[i].version);
	}
	vec_done(&s->memory);
	free(s->left_out);
	free(s);
}

static struct memory *remember(struct dnsoperator_operands_state *s, const json_t *o)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	strbuf_addf(&key, "%s ", api_kind(o));
	api_key(&key, o);
	for (size_t i = 0; i < s->memory.n; i++) {
		if (strcmp(s->memory.v[i].key, key.s) == 0)
			return &s->memory.v[i];
	}
	struct memory *m = vec_add(&s->memory);
	m->key = strbuf_take(&key);
	m->hash = xstrdup("");
	m->version = xstrdup("");
	return m;
}

static void set(char **text, const char *value)
{
	free(*text);
	*text = xstrdup(value);
}

/* ---- one object ---- */

struct one {
	struct dnsoperator_look *l;
	const json_t *wanted;
	struct memory *m;
	struct kube_ref ref;
};

/* -1: it is not watched. */
static int watch_of(const json_t *o)
{
	static const struct {
		const char *kind;
		int watch;
	} rows[] = {
		{ "DaemonSet", OPERAND_DAEMONSETS },
		{ "Service", OPERAND_SERVICES },
		{ "NetworkPolicy", OPERAND_POLICIES },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strcmp(api_kind(o), rows[i].kind) == 0 &&
		    strcmp(api_namespace(o), OPENSHIFT_NS) == 0)
			return rows[i].watch;
	}
	return -1;
}

/* Of what was not found: is it the kind? A path that means nothing gets no Status, or one without
 * the object's name. */
static bool lacks_kind(const struct kube_status *st)
{
	return strcmp(st->reason, "NotFound") != 0 ||
	       strstr(st->message, "could not find the requested resource") != NULL;
}

/* *ret is NULL when it is not there. 1: the server has no such kind. */
static int read_object(const struct one *x, json_t **ret)
{
	struct kube_status st = { 0 };
	int r = kube_get(x->l->c->conn, &x->ref, ret, &st);
	x->m->read_ns = clock_mono_ns();
	if (r < 0)
		*ret = NULL;
	if (r == ERR_NOTFOUND)
		r = lacks_kind(&st);
	else if (r < 0)
		r = dnsoperator_failed(x->l->c, r, x->m->key, &st);
	kube_status_done(&st);
	return r;
}

static const char *hash_of(const json_t *o)
{
	const char *hash = api_annotation(o, DNSOPERATOR_APPLIED_HASH);
	return hash != NULL ? hash : "";
}

/* A copy that is older than what we wrote tells nothing of it. And what the server gave back is as
 * good as it gets, even where it does not know some field. */
static bool is_settled(const struct one *x, const json_t *now)
{
	const char *hash = hash_of(x->wanted);
	if (strcmp(x->m->hash, hash) == 0 &&
	    api_resource_version_cmp(api_resource_version(now), x->m->version) <= 0)
		return true;
	return strcmp(hash_of(now), hash) == 0 && dnsoperator_is_as_applied(now, x->wanted);
}

static int apply_object(const struct one *x)
{
	struct controller_ctx *c = x->l->c;
	struct kube_status st = { 0 };
	json_t *made = NULL;
	uint64_t wait = dnsoperator_seen_repair(&x->m->seen, strtoull(hash_of(x->wanted), NULL, 16),
						clock_mono_ns());
	if (wait != 0) { /* others insist */
		dnsoperator_again(c, wait);
		return 0;
	}
	int r = kube_apply(c->conn, &x->ref, NULL, DNSOPERATOR_MANAGER, x->wanted, &made, &st);
	if (r >= 0) {
		log_info(AREA, "applied %s%s%s", x->m->key,
			 kube_conn_warnings(c->conn)[0] != '\0' ? "; the server warns: " : "",
			 kube_conn_warnings(c->conn));
		set(&x->m->hash, hash_of(x->wanted));
		set(&x->m->version, api_resource_version(made));
	} else {
		r = dnsoperator_failed(c, r, x->m->key, &st);
		dnsoperator_seen_failed(&x->m->seen);
	}
	kube_status_done(&st);
	json_decref(made);
	return r;
}

/* Was it read lately, and is it to be what it was then? */
static bool is_fresh(const struct one *x)
{
	return x->m->read_ns != 0 && strcmp(x->m->hash, hash_of(x->wanted)) == 0 &&
	       clock_mono_ns() - x->m->read_ns < READ_S * NS_PER_S;
}

static int ensure(struct dnsoperator_look *l, const json_t *wanted)
{
	struct dnsoperator_state *s = l->c->state;
	int watch = watch_of(wanted), r = 0;
	struct one x = { .l = l,
			 .wanted = wanted,
			 .m = remember(s->operands, wanted),
			 .ref = { .kind = api_kind_of(wanted),
				  .ns = api_namespace(wanted),
				  .name = api_name(wanted) } };
	json_t *now =
		watch >= 0 ? dnsoperator_object_of(l->c, watch, OPENSHIFT_NS, x.ref.name) : NULL;
	if (now == NULL && watch < 0 && is_fresh(&x))
		return 0;
	if (now == NULL)
		r = read_object(&x, &now);
	if (r == 0 && now != NULL && is_settled(&x, now))
		set(&x.m->hash, hash_of(wanted));
	else if (r == 0)
		r = apply_object(&x);
	json_decref(now);
	return r < 0 ? r : 0;
}

/* ---- all of them ---- */

bool dnsoperator_operands_wanted(const struct dnsoperator_look *l)
{
	const struct controller_options *o = dnsoperator_options(l->c);
	const char *flag = o->dns_operands != NULL ? o->dns_operands : "auto";
	if (!dnsoperator_operands_exist(l->facts.platform) || strcmp(flag, "false") == 0)
		return false;
	return l->facts.platform == DNSOPERATOR_OPENSHIFT || strcmp(flag, "true") == 0;
}

static void tell(const struct dnsoperator_look *l, const char *reason, const char *text)
{
	dnsoperator_tell(l, true, reason, "Apply", text);
}

/* Each once, and again when it was different in between. */
static void tell_lacks(struct dnsoperator_look *l, const struct dnsoperator_operands *o)
{
	struct dnsoperator_operands_state *s = ((struct dnsoperator_state *)l->c->state)->operands;
	const char *left_out = o->left_out.n != 0 ? o->left_out.s : "";
	if (left_out[0] != '\0' && (s->left_out == NULL || strcmp(s->left_out, left_out) != 0)) {
		CLEANUP(freep)
		char *text = xasprintf(
			"these objects are not applied, because a value is missing: %.900s",
			left_out);
		tell(l, "OperandsLeftOut", text);
	}
	set(&s->left_out, left_out);
	if (o->placement_ignored && !s->ignored)
		tell(l, "NodePlacementIgnored",
		     "no schedulable node fits spec.nodePlacement, so servers stay where they "
		     "are; change its nodeSelector or tolerations");
	s->ignored = o->placement_ignored;
}

/* The servers' DaemonSet, NULL when there is none or nobody can tell. */
static json_t *servers_now(const struct dnsoperator_look *l)
{
	const struct dnsoperator_site *site = &dnsoperator_sites[l->facts.platform];
	struct kube_ref ref = { .kind = api_kind_find("apps", "DaemonSet"),
				.ns = site->ns,
				.name = dnsoperator_operands_servers(l->facts.platform) };
	struct kube_status st = { 0 };
	json_t *o = NULL;
	if (strcmp(ref.ns, OPENSHIFT_NS) == 0)
		return dnsoperator_object_of(l->c, OPERAND_DAEMONSETS, ref.ns, ref.name);
	if (kube_get(l->c->conn, &ref, &o, &st) < 0)
		o = NULL;
	kube_status_done(&st);
	return o;
}

/* *ret is NULL where there is no such object, or no need of it. */
static int read_apiserver(struct dnsoperator_look *l, json_t **ret)
{
	*ret = NULL;
	if (l->facts.platform == DNSOPERATOR_KUBERNETES)
		return 0;
	return dnsoperator_get(l->c, "/apis/config.openshift.io/v1/apiservers/cluster",
			       "APIServer cluster", ret);
}

static void make(struct dnsoperator_look *l, const json_t *apiserver,
		 struct dnsoperator_operands *ret)
{
	const struct controller_ctx *c = l->c;
	const struct controller_options *o = dnsoperator_options(c);
	json_t *nodes = dnsoperator_all_of(c, NODES);
	json_t *servers = servers_now(l);
	json_t *service = dnsoperator_object_of(c, OPERAND_SERVICES, OPENSHIFT_NS, "dns-default");
	const char *source = o->dns_config_source != NULL ? o->dns_config_source : "file";
	dnsoperator_operands_make(
		&(struct dnsoperator_operands_in){
			.facts = &l->facts,
			.dns = kube_tree_of(l->dns),
			.accepted = l->plan.accepted,
			.dns_image = o->dns_image,
			.cli_image = o->dns_cli_image,
			.proxy_image = o->dns_proxy_image,
			.cluster_ip = l->cluster_ip,
			.config_by_api = strcmp(source, "api") == 0,
			.nodes = nodes,
			.servers = servers,
			.service = service,
			.apiserver = apiserver,
		},
		ret);
	json_decref(nodes);
	json_decref(servers);
	json_decref(service);
}

int dnsoperator_operands_apply(struct dnsoperator_look *l)
{
	struct dnsoperator_operands o;
	char err[sizeof(l->c->err)] = "";
	int first = 0;
	size_t i;
	json_t *v, *apiserver = NULL;
	if (!dnsoperator_operands_wanted(l))
		return 0;
	dnsoperator_again(l->c, AGAIN_S * NS_PER_S);
	int r = read_apiserver(l, &apiserver);
	if (r < 0)
		return r;
	make(l, apiserver, &o);
	json_decref(apiserver);
	tell_lacks(l, &o);
	/* one that is refused keeps none of the others back */
	json_array_foreach (o.v, i, v) {
		r = ensure(l, v);
		if (r < 0 && first == 0) {
			first = r;
			snprintf(err, sizeof(err), "%s", l->c->err);
		}
	}
	if (first < 0)
		snprintf(l->c->err, sizeof(l->c->err), "%s", err);
	dnsoperator_operands_done(&o);
	return first;
}
