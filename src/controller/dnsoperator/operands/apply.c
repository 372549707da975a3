/* Applies what runs a cluster's DNS: only what is not as it was applied, so that a settled operator
 * writes nothing. The objects that servers need at once are watched; the others, roles and accounts
 * mostly, are read again from time to time. */
#include "controller/dnsoperator/operands/apply.h"

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
#include "controller/dnsoperator/object_contains.h"
#include "controller/dnsoperator/plan/configmap_objects.h"
#include "controller/dnsoperator/operands/manifests.h"
#include "kube/decode/tree.h"

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

void dnsoperator_operands_state_free(struct dnsoperator_operands_state *state)
{
	if (state == NULL)
		return;
	for (size_t i = 0; i < state->memory.n; i++) {
		free(state->memory.v[i].key);
		free(state->memory.v[i].hash);
		free(state->memory.v[i].version);
	}
	vec_done(&state->memory);
	free(state->left_out);
	free(state);
}

static struct memory *remember(struct dnsoperator_operands_state *state, const json_t *object)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	strbuf_addf(&key, "%s ", api_kind(object));
	api_key(&key, object);
	for (size_t i = 0; i < state->memory.n; i++) {
		if (strcmp(state->memory.v[i].key, key.s) == 0)
			return &state->memory.v[i];
	}
	struct memory *m = vec_add(&state->memory);
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
	struct dnsoperator_pass *l;
	const json_t *wanted;
	struct memory *m;
	struct kube_ref ref;
};

/* -1: it is not watched. */
static int watch_of(const json_t *object)
{
	static const struct {
		const char *kind;
		int watch;
	} rows[] = {
		{ "DaemonSet", DNSOPERATOR_WATCH_OPERAND_DAEMONSETS },
		{ "Service", DNSOPERATOR_WATCH_OPERAND_SERVICES },
		{ "NetworkPolicy", DNSOPERATOR_WATCH_OPERAND_POLICIES },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strcmp(api_kind(object), rows[i].kind) == 0 &&
		    strcmp(api_namespace(object), DNSOPERATOR_OPENSHIFT_NS) == 0)
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
static int read_object(const struct one *one, json_t **ret)
{
	struct kube_status st = { 0 };
	int r = kube_get(one->l->ctx->conn, &one->ref, ret, &st);
	one->m->read_ns = clock_mono_ns();
	if (r < 0)
		*ret = NULL;
	if (r == ERR_NOTFOUND)
		r = lacks_kind(&st);
	else if (r < 0)
		r = dnsoperator_set_error(one->l->ctx, r, one->m->key, &st);
	kube_status_done(&st);
	return r;
}

static const char *hash_of(const json_t *object)
{
	const char *hash = api_annotation(object, DNSOPERATOR_APPLIED_HASH);
	return hash != NULL ? hash : "";
}

/* A copy that is older than what we wrote tells nothing of it. And what the server gave back is as
 * good as it gets, even where it does not know some field. */
static bool is_settled(const struct one *one, const json_t *now)
{
	const char *hash = hash_of(one->wanted);
	if (strcmp(one->m->hash, hash) == 0 &&
	    api_resource_version_cmp(api_resource_version(now), one->m->version) <= 0)
		return true;
	return strcmp(hash_of(now), hash) == 0 && dnsoperator_object_contains(now, one->wanted);
}

static int apply_object(const struct one *one)
{
	struct controller_ctx *c = one->l->ctx;
	struct kube_status st = { 0 };
	json_t *made = NULL;
	uint64_t wait = dnsoperator_seen_repair(
		&one->m->seen, strtoull(hash_of(one->wanted), NULL, 16), clock_mono_ns());
	if (wait != 0) { /* others insist */
		dnsoperator_requeue_after(c, wait);
		return 0;
	}
	int r = kube_apply(c->conn, &one->ref, NULL, DNSOPERATOR_MANAGER, one->wanted, &made, &st);
	if (r >= 0) {
		log_info(DNSOPERATOR_LOG_AREA, "applied %s%s%s", one->m->key,
			 kube_conn_warnings(c->conn)[0] != '\0' ? "; the server warns: " : "",
			 kube_conn_warnings(c->conn));
		set(&one->m->hash, hash_of(one->wanted));
		set(&one->m->version, api_resource_version(made));
	} else {
		r = dnsoperator_set_error(c, r, one->m->key, &st);
		dnsoperator_seen_failed(&one->m->seen);
	}
	kube_status_done(&st);
	json_decref(made);
	return r;
}

/* Was it read lately, and is it to be what it was then? */
static bool is_fresh(const struct one *one)
{
	return one->m->read_ns != 0 && strcmp(one->m->hash, hash_of(one->wanted)) == 0 &&
	       clock_mono_ns() - one->m->read_ns < READ_S * NS_PER_S;
}

static int ensure(struct dnsoperator_pass *pass, const json_t *wanted)
{
	struct dnsoperator_state *s = pass->ctx->state;
	int watch = watch_of(wanted), r = 0;
	struct one x = { .l = pass,
			 .wanted = wanted,
			 .m = remember(s->operands, wanted),
			 .ref = { .kind = api_kind_of(wanted),
				  .ns = api_namespace(wanted),
				  .name = api_name(wanted) } };
	json_t *now = watch >= 0 ? dnsoperator_watched_object(pass->ctx, watch,
							      DNSOPERATOR_OPENSHIFT_NS, x.ref.name)
				 : NULL;
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

bool dnsoperator_operands_wanted(const struct dnsoperator_pass *pass)
{
	const struct controller_options *o = dnsoperator_options(pass->ctx);
	const char *flag = o->dns_operands != NULL ? o->dns_operands : "auto";
	if (!dnsoperator_operands_exist(pass->facts.platform) || strcmp(flag, "false") == 0)
		return false;
	return pass->facts.platform == DNSOPERATOR_OPENSHIFT || strcmp(flag, "true") == 0;
}

static void tell(const struct dnsoperator_pass *pass, const char *reason, const char *text)
{
	dnsoperator_emit_event(pass, true, reason, "Apply", text);
}

/* Each once, and again when it was different in between. */
static void tell_lacks(struct dnsoperator_pass *pass, const struct dnsoperator_operands *operands)
{
	struct dnsoperator_operands_state *s =
		((struct dnsoperator_state *)pass->ctx->state)->operands;
	const char *left_out = operands->left_out.n != 0 ? operands->left_out.s : "";
	if (left_out[0] != '\0' && (s->left_out == NULL || strcmp(s->left_out, left_out) != 0)) {
		CLEANUP(freep)
		char *text = xasprintf(
			"these objects are not applied, because a value is missing: %.900s",
			left_out);
		tell(pass, "OperandsLeftOut", text);
	}
	set(&s->left_out, left_out);
	if (operands->placement_ignored && !s->ignored)
		tell(pass, "NodePlacementIgnored",
		     "no schedulable node fits spec.nodePlacement, so servers stay where they "
		     "are; change its nodeSelector or tolerations");
	s->ignored = operands->placement_ignored;
}

/* The servers' DaemonSet, NULL when there is none or nobody can tell. */
static json_t *servers_now(const struct dnsoperator_pass *pass)
{
	const struct dnsoperator_site *site = &dnsoperator_sites[pass->facts.platform];
	struct kube_ref ref = { .kind = api_kind_find("apps", "DaemonSet"),
				.ns = site->ns,
				.name = dnsoperator_operands_servers(pass->facts.platform) };
	struct kube_status st = { 0 };
	json_t *o = NULL;
	if (strcmp(ref.ns, DNSOPERATOR_OPENSHIFT_NS) == 0)
		return dnsoperator_watched_object(pass->ctx, DNSOPERATOR_WATCH_OPERAND_DAEMONSETS,
						  ref.ns, ref.name);
	if (kube_get(pass->ctx->conn, &ref, &o, &st) < 0)
		o = NULL;
	kube_status_done(&st);
	return o;
}

/* *ret is NULL where there is no such object, or no need of it. */
static int read_apiserver(struct dnsoperator_pass *pass, json_t **ret)
{
	*ret = NULL;
	if (pass->facts.platform == DNSOPERATOR_KUBERNETES)
		return 0;
	return dnsoperator_get(pass->ctx, "/apis/config.openshift.io/v1/apiservers/cluster",
			       "APIServer cluster", ret);
}

static void make(struct dnsoperator_pass *pass, const json_t *apiserver,
		 struct dnsoperator_operands *ret)
{
	const struct controller_ctx *c = pass->ctx;
	const struct controller_options *o = dnsoperator_options(c);
	json_t *nodes = dnsoperator_watched_objects(c, DNSOPERATOR_WATCH_NODES);
	json_t *servers = servers_now(pass);
	json_t *service = dnsoperator_watched_object(c, DNSOPERATOR_WATCH_OPERAND_SERVICES,
						     DNSOPERATOR_OPENSHIFT_NS, "dns-default");
	const char *source = o->dns_config_source != NULL ? o->dns_config_source : "file";
	dnsoperator_operands_make(
		&(struct dnsoperator_operands_in){
			.facts = &pass->facts,
			.dns = kube_tree_of(pass->dns),
			.accepted = pass->plan.accepted,
			.dns_image = o->dns_image,
			.cli_image = o->dns_cli_image,
			.proxy_image = o->dns_proxy_image,
			.cluster_ip = pass->cluster_ip,
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

int dnsoperator_operands_apply(struct dnsoperator_pass *pass)
{
	struct dnsoperator_operands o;
	char err[sizeof(pass->ctx->err)] = "";
	int first = 0;
	size_t i;
	json_t *v, *apiserver = NULL;
	if (!dnsoperator_operands_wanted(pass))
		return 0;
	dnsoperator_requeue_after(pass->ctx, AGAIN_S * NS_PER_S);
	int r = read_apiserver(pass, &apiserver);
	if (r < 0)
		return r;
	make(pass, apiserver, &o);
	json_decref(apiserver);
	tell_lacks(pass, &o);
	/* one that is refused keeps none of the others back */
	json_array_foreach (o.v, i, v) {
		r = ensure(pass, v);
		if (r < 0 && first == 0) {
			first = r;
			snprintf(err, sizeof(err), "%s", pass->ctx->err);
		}
	}
	if (first < 0)
		snprintf(pass->ctx->err, sizeof(pass->ctx->err), "%s", err);
	dnsoperator_operands_done(&o);
	return first;
}
