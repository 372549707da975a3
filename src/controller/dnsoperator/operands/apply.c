/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Applies the operands, but only those that differ from what was applied last, so that a settled
 * operator writes nothing. The objects that servers need at once are watched; the others, roles and
 * accounts mostly, are read again from time to time. */
#include "controller/dnsoperator/operands/apply.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/shared/object_contains.h"
#include "controller/dnsoperator/operands/manifests.h"
#include "controller/dnsoperator/plan/configmap_objects.h"
#include "kube/decode/tree.h"

/* Objects without a watch are read after this time, and not more often than that, however many
 * passes there are. */
enum { AGAIN_S = 60, READ_S = 10 };

/* What Events have reported. */
struct dnsoperator_operands_state {
	char *left_out; /* NULL before the first pass */
	bool placement_ignored;
};

struct dnsoperator_operands_state *dnsoperator_operands_state_new(void)
{
	return xcalloc(1, sizeof(struct dnsoperator_operands_state));
}

void dnsoperator_operands_state_free(struct dnsoperator_operands_state *state)
{
	if (state == NULL)
		return;
	free(state->left_out);
	free(state);
}

/* ---- one object ---- */

struct operand {
	struct dnsoperator_pass *pass;
	const json_t *wanted;
	struct kube_ref ref;
	struct own_write *write;
};

/* "DaemonSet openshift-dns/dns-default", for the log and errors; the caller's. */
static char *label_of(const struct operand *operand)
{
	struct strbuf label = STRBUF_INIT;
	strbuf_addf(&label, "%s ", api_kind(operand->wanted));
	api_object_key(&label, operand->wanted);
	return strbuf_take(&label);
}

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

/* After a 404: is the kind missing, not the object? An unknown path gets no Status, or one without
 * the object's name. */
static bool lacks_kind(const struct kube_status *st)
{
	return strcmp(st->reason, "NotFound") != 0 ||
	       strstr(st->message, "could not find the requested resource") != NULL;
}

static int set_operand_error(const struct operand *operand, int ret, const struct kube_status *st)
{
	CLEANUP(freep) char *label = label_of(operand);
	return dnsoperator_set_error(operand->pass->ctx, ret, label, st);
}

/* *ret is NULL when the object is missing. 1: the server has no such kind. */
static int read_operand(const struct operand *operand, json_t **ret)
{
	struct kube_status st = { 0 };
	int r = kube_get(operand->pass->ctx->conn, &operand->ref, ret, &st);
	operand->write->read_ns = clock_mono_ns();
	if (r < 0)
		*ret = NULL;
	if (r == ERR_NOTFOUND)
		r = lacks_kind(&st);
	else if (r < 0)
		r = set_operand_error(operand, r, &st);
	kube_status_done(&st);
	return r;
}

/* The hash in the annotation; 0: it has none. */
static uint64_t hash_of(const json_t *object)
{
	const char *hash = api_annotation(object, DNSOPERATOR_APPLIED_HASH);
	return hash != NULL ? strtoull(hash, NULL, 16) : 0;
}

/* A copy older than our own write does not show it. And what the server returned to our write is
 * right, even where it dropped a field that it does not know. */
static bool is_settled(const struct operand *operand, const json_t *now)
{
	uint64_t hash = hash_of(operand->wanted);
	if (operand->write->settled == hash &&
	    own_write_is_last(operand->write, api_resource_version(now)))
		return true;
	return hash_of(now) == hash && object_contains(now, operand->wanted);
}

static int apply_operand(const struct operand *operand)
{
	struct controller_ctx *ctx = operand->pass->ctx;
	struct own_write *write = operand->write;
	struct kube_status st = { 0 };
	json_t *made = NULL;
	uint64_t hash = hash_of(operand->wanted);
	uint64_t wait = own_write_repair(write, hash, clock_mono_ns());
	if (wait != 0) { /* another writer keeps changing it */
		dnsoperator_requeue_after(ctx, wait);
		return 0;
	}
	int r = kube_apply(ctx->conn, &operand->ref, NULL, DNSOPERATOR_MANAGER, operand->wanted,
			   &made, &st);
	if (r >= 0) {
		CLEANUP(freep) char *label = label_of(operand);
		const char *warnings = kube_conn_warnings(ctx->conn);
		log_info(DNSOPERATOR_LOG_AREA, "applied %s%s%s", label,
			 warnings[0] != '\0' ? "; the server warns: " : "", warnings);
		write->settled = hash;
		own_write_note(write, api_resource_version(made), NULL);
	} else {
		r = set_operand_error(operand, r, &st);
		own_write_failed(write);
	}
	kube_status_done(&st);
	json_decref(made);
	return r;
}

/* Was it read a moment ago, and is the same wanted now? */
static bool was_just_read(const struct operand *operand)
{
	const struct own_write *write = operand->write;
	return write->read_ns != 0 && write->settled == hash_of(operand->wanted) &&
	       clock_mono_ns() - write->read_ns < READ_S * NS_PER_S;
}

static int ensure_operand(struct dnsoperator_pass *pass, const json_t *wanted)
{
	struct dnsoperator_state *state = pass->ctx->state;
	int watch = watch_of(wanted), r = 0;
	struct operand operand = { .pass = pass,
				   .wanted = wanted,
				   .ref = { .kind = api_kind_of(wanted),
					    .ns = api_namespace(wanted),
					    .name = api_name(wanted) } };
	json_t *now = NULL;
	assert(operand.ref.kind != NULL); /* manifests are part of the program */
	operand.write = own_write_of(&state->own_writes, api_kind(wanted), operand.ref.ns,
				     operand.ref.name);
	if (watch >= 0)
		now = dnsoperator_watched_object(pass->ctx, watch, DNSOPERATOR_OPENSHIFT_NS,
						 operand.ref.name);
	else if (was_just_read(&operand))
		return 0;
	if (now == NULL)
		r = read_operand(&operand, &now);
	if (r == 0 && now != NULL && is_settled(&operand, now))
		operand.write->settled = hash_of(wanted);
	else if (r == 0)
		r = apply_operand(&operand);
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

/* Emits each Event once, and again when it did not hold in between. */
static void report_left_out(struct dnsoperator_pass *pass,
			    const struct dnsoperator_operands *operands)
{
	const struct dnsoperator_state *state = pass->ctx->state;
	struct dnsoperator_operands_state *s = state->operands;
	const char *left_out = operands->left_out.n != 0 ? operands->left_out.s : "";
	if (left_out[0] != '\0' && (s->left_out == NULL || strcmp(s->left_out, left_out) != 0)) {
		CLEANUP(freep)
		char *text = xasprintf(
			"these objects are not applied, because a value is missing: %.900s",
			left_out);
		dnsoperator_emit_event(pass, true, "OperandsLeftOut", "Apply", text);
	}
	free(s->left_out);
	s->left_out = xstrdup(left_out);
	if (operands->placement_ignored && !s->placement_ignored)
		dnsoperator_emit_event(pass, true, "NodePlacementIgnored", "Apply",
				       "no schedulable node matches spec.nodePlacement, so servers "
				       "stay where they "
				       "are; change its nodeSelector or tolerations");
	s->placement_ignored = operands->placement_ignored;
}

/* The servers' DaemonSet as it is; NULL when it is missing or cannot be read. */
static json_t *read_servers(const struct dnsoperator_pass *pass)
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

static void make_operands(struct dnsoperator_pass *pass, const json_t *apiserver,
			  struct dnsoperator_operands *ret)
{
	const struct controller_ctx *c = pass->ctx;
	const struct controller_options *o = dnsoperator_options(c);
	json_t *nodes = dnsoperator_watched_objects(c, DNSOPERATOR_WATCH_NODES);
	json_t *servers = read_servers(pass);
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
	make_operands(pass, apiserver, &o);
	json_decref(apiserver);
	report_left_out(pass, &o);
	/* one that fails does not stop the others */
	json_array_foreach (o.objects, i, v) {
		r = ensure_operand(pass, v);
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
