/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the two ConfigMaps of a plan, notices other writers that keep changing them, and gives
 * the poller the Corefile that the servers should run now. */
#include "controller/dnsoperator/write_configmaps.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "controller/dnsoperator/configmaps.h"
#include "controller/dnsoperator/gather.h"
#include "controller/shared/object_contains.h"
#include "controller/dnsoperator/plan/configmap_objects.h"
#include "controller/dnsoperator/plan/template_conditions.h"
#include "controller/dnsoperator/rollout/poller.h"
#include "kube/decode/tree.h"

/* ---- other writers ---- */

/* Emits an Event when the contest begins; the conditions report it until it ends. */
static void note_contested(struct dnsoperator_pass *pass)
{
	struct dnsoperator_state *state = pass->ctx->state;
	if (pass->contested[0] != '\0' && state->contested[0] == '\0')
		dnsoperator_emit_event(pass, true, "ConfigMapContested", "Write", pass->contested);
	memcpy(state->contested, pass->contested, sizeof(state->contested));
}

/* A Corefile that is still the one of the last pass was replaced by another writer's. */
static void note_corefile(struct dnsoperator_pass *pass)
{
	struct dnsoperator_state *state = pass->ctx->state;
	uint64_t hash =
		hash_bytes(hash_process_key(), pass->plan.corefile.s, pass->plan.corefile.n);
	pass->restored = pass->restored && hash == state->corefile_hash;
	state->corefile_hash = hash;
}

/* ---- one ConfigMap ---- */

/* Takes `wanted` over. 1 when it was written. */
static int write_configmap(struct dnsoperator_pass *pass, const json_t *now, json_t *wanted)
{
	bool right = now != NULL && object_contains(now, wanted);
	int r = right ? 0 : dnsoperator_configmap_apply(pass->ctx, wanted, NULL);
	pass->restored = now != NULL && !right;
	pass->corefile_contested = dnsoperator_configmap_contested(pass->ctx, wanted, right);
	if (pass->corefile_contested)
		snprintf(pass->contested, sizeof(pass->contested),
			 "Another writer keeps changing the ConfigMap %s/%s; it is restored once a "
			 "minute. Its metadata.managedFields name the writer.",
			 api_namespace(wanted), api_name(wanted));
	json_decref(wanted);
	return r;
}

/* A cluster has the namespace, with the servers; on one machine nobody else creates it. */
static int create_namespace(struct dnsoperator_pass *pass)
{
	const struct dnsoperator_site *site = &dnsoperator_sites[pass->facts.platform];
	struct kube_ref ref = { .kind = api_kind_find("", "Namespace"), .name = site->ns };
	struct kube_status st = { 0 };
	if (dnsoperator_machine(pass->ctx) == NULL || pass->corefile_map != NULL)
		return 0;
	json_t *object = json_pack("{ss,ss,s{ss}}", "apiVersion", "v1", "kind", "Namespace",
				   "metadata", "name", site->ns);
	int r = kube_apply(pass->ctx->conn, &ref, NULL, DNSOPERATOR_MANAGER, object, NULL, &st);
	if (r < 0)
		r = dnsoperator_set_error(pass->ctx, r, "namespace", &st);
	kube_status_done(&st);
	json_decref(object);
	return r;
}

/* Saves the accepted configuration, and the templates that the object has stored. */
static int save_accepted(struct dnsoperator_pass *pass)
{
	json_t *wanted = dnsoperator_accepted_object(&pass->plan, &pass->facts);
	bool same = pass->accepted_map != NULL && object_contains(pass->accepted_map, wanted);
	int r = write_configmap(pass, pass->accepted_map, wanted);
	pass->accepted_saved = same || r > 0;
	return r < 0 ? r : 0;
}

/* Without a Corefile to write nothing is accepted, but the stored templates are saved all the same.
 */
static int save_stored_templates(struct dnsoperator_pass *pass)
{
	json_t *last = dnsoperator_accepted_read(pass->accepted_map);
	const json_t *before = json_object_get(last, "stored");
	const json_t *now = json_object_get(pass->plan.accepted, "stored");
	bool same = json_equal(api_tree(before), api_tree(now)) || (before == NULL && now == NULL);
	json_decref(last);
	pass->accepted_saved = same;
	int r = same ? 0 : save_accepted(pass);
	return r == ERR_NOTFOUND ? 0 : r; /* the namespace is not ours to create */
}

static void report_written(struct dnsoperator_pass *pass)
{
	const struct dnsoperator_site *site = &dnsoperator_sites[pass->facts.platform];
	bool guess = pass->facts.platform == DNSOPERATOR_KUBERNETES && pass->domain[0] == '\0';
	char text[400];
	snprintf(text, sizeof(text), "wrote the Corefile of generation %lld to %s/%s%s",
		 (long long)api_generation(kube_tree_of(pass->dns)), site->ns, site->configmap,
		 guess ? "; no Corefile names the cluster's domain, so cluster.local is assumed "
			 "(--dns-cluster-domain sets another)"
		       : "");
	dnsoperator_emit_event(pass, false, "CorefileWritten", "Write", text);
	if (pass->plan.advice.n != 0)
		dnsoperator_emit_event(pass, true, "UpstreamsDoubtful", "Validate",
				       pass->plan.advice.s);
}

/* 1 when there is a new Corefile. */
static int write_corefile(struct dnsoperator_pass *pass)
{
	const struct controller_machine *machine = dnsoperator_machine(pass->ctx);
	int r = create_namespace(pass);
	if (r >= 0)
		r = save_accepted(pass);
	if (r < 0)
		return r;
	r = write_configmap(pass, pass->corefile_map,
			    dnsoperator_corefile_object(&pass->plan, &pass->facts,
							kube_tree_of(pass->dns),
							pass->corefile_map));
	if (r >= 0)
		note_corefile(pass);
	if (r > 0)
		report_written(pass);
	if (r >= 0 && machine != NULL)
		machine->publish(machine->ctx, pass->plan.corefile.s);
	return r;
}

/* ---- what servers should run ---- */

void dnsoperator_want_corefile(const struct dnsoperator_pass *pass, const char *hash,
			       uint64_t age_ns)
{
	const struct controller_ctx *ctx = pass->ctx;
	struct dnsoperator_state *state = ctx->state;
	bool poll = dnsoperator_poller_want(state->poller, dnsoperator_options(ctx), &pass->facts,
					    hash, age_ns);
	/* servers may have loaded another writer's Corefile, which may have templates where this
	 * one has none */
	if (!poll && pass->restored && hash != NULL)
		poll = dnsoperator_poller_recheck(state->poller);
	if (poll)
		ctx->emit(ctx->emit_arg, DNSOPERATOR_SERVERS_KEY);
}

/* For how long servers could read the Corefile. The server of this machine started with us. */
static uint64_t corefile_age(const struct dnsoperator_pass *pass)
{
	uint64_t at = dnsoperator_corefile_time(pass->corefile_map), now = clock_wall_ns();
	return dnsoperator_machine(pass->ctx) != NULL || at == 0 || at > now ? 0 : now - at;
}

/* A Corefile that cannot be written is reported by a condition when that lasts. */
static void note_result(struct dnsoperator_pass *pass, int ret)
{
	struct dnsoperator_state *state = pass->ctx->state;
	const char *err = pass->ctx->err, *id = strstr(err, " (audit id");
	if (ret >= 0) {
		state->unwritten_ns = 0;
	} else if (state->unwritten_ns == 0) {
		state->unwritten_ns = clock_mono_ns();
		snprintf(state->unwritten, sizeof(state->unwritten), "%.*s",
			 id != NULL ? (int)(id - err) : (int)strlen(err), err);
	}
}

/* What keeps the Corefile from the servers becomes part of the conditions. */
static void report_blocked(struct dnsoperator_pass *pass, int ret)
{
	struct dnsoperator_state *state = pass->ctx->state;
	char why[500];
	if (ret < 0)
		snprintf(why, sizeof(why),
			 "The Corefile of generation %lld cannot be written, so servers do not get "
			 "it: %s.",
			 (long long)api_generation(kube_tree_of(pass->dns)), state->unwritten);
	if (pass->corefile_contested)
		dnsoperator_plan_blocked(&pass->plan, true, pass->contested);
	else if (ret < 0)
		dnsoperator_plan_blocked(&pass->plan, false, why);
}

int dnsoperator_write_configmaps(struct dnsoperator_pass *pass)
{
	int r = pass->plan.write ? write_corefile(pass) : save_stored_templates(pass);
	assert(r <= 1);
	pass->corefile_result = r;
	note_result(pass, r);
	note_contested(pass);
	if (r >= 0)
		dnsoperator_want_corefile(pass, pass->plan.write ? pass->plan.hash : NULL,
					  r > 0 ? 0 : corefile_age(pass));
	report_blocked(pass, r);
	return r < 0 ? r : 0;
}

/* ---- without an object ---- */

int dnsoperator_reset_configmaps(struct dnsoperator_pass *pass)
{
	int r = dnsoperator_gather_configmaps(pass);
	if (r < 0 || pass->corefile_map == NULL)
		return r;
	json_t *empty = json_object();
	dnsoperator_plan_make(&(struct dnsoperator_plan_in){ .dns = empty, .facts = &pass->facts },
			      &pass->plan);
	r = write_configmap(
		pass, pass->corefile_map,
		dnsoperator_corefile_object(&pass->plan, &pass->facts, empty, pass->corefile_map));
	json_decref(empty);
	if (r >= 0 && pass->accepted_map != NULL)
		r = dnsoperator_configmap_delete(pass->ctx, pass->accepted_map);
	return r < 0 ? r : 0;
}
