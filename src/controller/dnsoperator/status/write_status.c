/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Computes the status of the DNS object once for each version of it, writes it where it changed,
 * and emits Events for what is new in it. */
#include "controller/dnsoperator/status/write_status.h"

#include <assert.h>
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "controller/dnsoperator/status/report.h"
#include "controller/dnsoperator/status/transitions.h"
#include "kube/decode/tree.h"

/* The plan is of this generation of this object; another one will get another plan. */
static bool is_planned_for(const struct dnsoperator_pass *pass, const json_t *dns)
{
	const json_t *planned = kube_tree_of(pass->dns);
	return api_generation(dns) == api_generation(planned) &&
	       strcmp(api_uid(dns), api_uid(planned)) == 0;
}

/* The object before and after its status was set. */
struct computed {
	json_t *before, *after;
	bool changed;
};

static void computed_done(struct computed *computed)
{
	json_decref(computed->before);
	json_decref(computed->after);
	*computed = (struct computed){ 0 };
}

/* The status that `dns` should have, by the plan and by how DNS works. */
static void compute_status(struct dnsoperator_pass *pass, const json_t *dns, struct computed *ret)
{
	struct dnsoperator_state *state = pass->ctx->state;
	computed_done(ret);
	ret->before = json_deep_copy(dns);
	ret->after = json_deep_copy(dns);
	if (!is_planned_for(pass, dns))
		return;
	struct dnsoperator_observed observed =
		dnsoperator_observed_of(dns, state->observed_generation);
	uint64_t now = clock_wall_ns();
	ret->changed = dnsoperator_status_set(ret->after, &pass->plan, &pass->facts,
					      pass->cluster_ip, &observed, now);
	ret->changed |= dnsoperator_report_set(pass, ret->after, &observed, now);
}

/* Remembers for which Corefile and generation the conditions are now. */
static void note_reported(struct dnsoperator_pass *pass)
{
	struct dnsoperator_state *state = pass->ctx->state;
	if (pass->plan.conditions[DNSOPERATOR_APPLIED].reason == NULL)
		return;
	state->applied_reported = true;
	memcpy(state->applied_hash, pass->plan.hash, sizeof(state->applied_hash));
	state->observed_generation = api_generation(kube_tree_of(pass->dns));
}

static void emit_transitions(const struct dnsoperator_pass *pass, const struct computed *computed)
{
	struct dnsoperator_state *state = pass->ctx->state;
	struct transition rows[DNSOPERATOR_TRANSITIONS_MAX];
	size_t n = dnsoperator_transitions_of(computed->before, computed->after, rows);
	assert(n <= DNSOPERATOR_TRANSITIONS_MAX);
	for (size_t i = 0; i < n; i++)
		dnsoperator_emit_event(pass, rows[i].warning, rows[i].reason, "Report",
				       rows[i].message);
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	dnsoperator_problems_text(&pass->plan.servers, &text);
	uint64_t hash = hash_bytes(hash_process_key(), text.s, text.n);
	if (pass->plan.servers.n != 0 && hash != state->servers_reported)
		dnsoperator_emit_event(pass, true, "InvalidServers", "Validate", text.s);
	state->servers_reported = pass->plan.servers.n != 0 ? hash : 0;
}

struct edit {
	struct dnsoperator_pass *pass;
	struct computed *computed;
	bool exists; /* the server still has the object */
};

/* Computes again only if the server's object is another version than the watch's copy. */
static int set_status(void *ctx, json_t *copy)
{
	struct edit *edit = ctx;
	struct computed *computed = edit->computed;
	edit->exists = true;
	if (strcmp(api_resource_version(copy), api_resource_version(computed->before)) != 0)
		compute_status(edit->pass, copy, computed);
	json_object_set(copy, "status", json_object_get(computed->after, "status"));
	return computed->changed;
}

static int send_status(struct dnsoperator_pass *pass, struct computed *computed)
{
	struct kube_ref ref = { .kind = api_kind_find("operator.openshift.io", "DNS"),
				.name = DNSOPERATOR_DNS_NAME };
	struct kube_status st = { 0 };
	struct edit edit = { .pass = pass, .computed = computed };
	int r = kube_edit(pass->ctx->conn, &ref, "status", set_status, &edit, &st);
	if (r == ERR_NOTFOUND)
		r = 0;
	else if (r < 0)
		r = dnsoperator_set_error(pass->ctx, r, "status", &st);
	else
		emit_transitions(pass, computed);
	if (r >= 0 && edit.exists && is_planned_for(pass, computed->after))
		note_reported(pass);
	kube_status_done(&st);
	return r;
}

int dnsoperator_write_status(struct dnsoperator_pass *pass)
{
	struct computed computed = { 0 };
	int r = 0;
	compute_status(pass, kube_tree_of(pass->dns), &computed);
	int published = dnsoperator_report_publish(pass, computed.after);
	if (computed.changed)
		r = send_status(pass, &computed);
	else
		note_reported(pass);
	computed_done(&computed);
	return r < 0 ? r : published;
}
