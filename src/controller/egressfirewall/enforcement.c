/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gathers nodes, reports and firewalls, counts, and keeps the result for the passes over firewalls. */
#include "controller/egressfirewall/enforcement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/egress/rules.h"
#include "api/meta.h"
#include "api/tree.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/vec.h"
#include "controller/egressfirewall/state.h"
#include "controller/egressfirewall/watches.h"
#include "kube/decode/tree.h"

#define PASS_GAP_NS (500 * NS_PER_MS)
enum { PASS_SHARE = 20 }; /* and so many times what a pass took */

/* ---- gathering ---- */

struct gathered {
	VEC(struct kube_obj *) held; /* what the lists point into */
	VEC(struct in_force_node) nodes;
	VEC(struct in_force_report) reports;
};

static bool add_node(void *ctx, struct kube_obj *object)
{
	struct gathered *gathered = ctx;
	vec_push(&gathered->held, kube_obj_ref(object));
	vec_push(&gathered->nodes,
		 (struct in_force_node){ object->name, api_get_string(kube_tree_of(object),
								      "status.nodeInfo.bootID") });
	return true;
}

static bool add_report(void *ctx, struct kube_obj *object)
{
	struct gathered *gathered = ctx;
	const json_t *data = json_object_get(kube_tree_of(object), "data");
	vec_push(&gathered->held, kube_obj_ref(object));
	const json_t *released = json_object_get(data, "released");
	vec_push(&gathered->reports,
		 (struct in_force_report){
			 .released =
				 released != NULL ? api_text_slice(released) : (struct slice){ 0 },
			 .node = api_text(json_object_get(data, "node")),
			 .boot_id = api_text(json_object_get(data, "bootID")),
			 .bypass = api_text(json_object_get(data, "dataPath")),
			 .lines = api_text_slice(json_object_get(data, "firewalls")),
			 .problems = api_text_slice(json_object_get(data, "problems")) });
	return true;
}

static bool add_firewall(void *ctx, struct kube_obj *object)
{
	const json_t *firewall = kube_tree_of(object);
	if (strcmp(object->name, EGRESS_FIREWALL_NAME) != 0)
		return true;
	struct in_force *entry = xcalloc(1, sizeof(*entry));
	snprintf(entry->uid, sizeof(entry->uid), "%s", api_uid(firewall));
	entry->generation = api_generation(firewall);
	free(map_set(ctx, slice_of(object->ns), entry));
	return true;
}

static int compare_nodes(const void *left, const void *right)
{
	const struct in_force_node *a = left, *b = right;
	return strcmp(a->name, b->name);
}

static int compare_reports(const void *left, const void *right)
{
	const struct in_force_report *a = left, *b = right;
	return strcmp(a->node, b->node);
}

static void gather(const struct controller_ctx *ctx, struct gathered *gathered)
{
	kube_store_each(ctx->stores[EGRESSFIREWALL_NODES], add_node, gathered);
	kube_store_each(ctx->stores[EGRESSFIREWALL_REPORTS], add_report, gathered);
	if (gathered->nodes.n > 1)
		qsort(gathered->nodes.v, gathered->nodes.n, sizeof(*gathered->nodes.v),
		      compare_nodes);
	if (gathered->reports.n > 1)
		qsort(gathered->reports.v, gathered->reports.n, sizeof(*gathered->reports.v),
		      compare_reports);
}

static void gathered_done(struct gathered *gathered)
{
	for (size_t i = 0; i < gathered->held.n; i++)
		kube_obj_unref(gathered->held.v[i]);
	vec_done(&gathered->held);
	vec_done(&gathered->nodes);
	vec_done(&gathered->reports);
}

/* ---- keeping ---- */

static bool is_same(const struct in_force *now, const struct in_force *before)
{
	return before != NULL && now->generation == before->generation && now->n == before->n &&
	       now->nodes == before->nodes && now->is_bypassed == before->is_bypassed &&
	       now->reason == before->reason && strcmp(now->uid, before->uid) == 0 &&
	       strcmp(now->missing, before->missing) == 0;
}

static void free_entries(struct map *firewalls)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(firewalls, &pos)) != NULL)
		free(entry->value);
	map_done(firewalls);
}

void egressfirewall_enforcement_init(struct egressfirewall_enforcement *enforcement)
{
	map_init(&enforcement->firewalls);
	release_votes_init(&enforcement->votes);
}

void egressfirewall_enforcement_done(struct egressfirewall_enforcement *enforcement)
{
	free_entries(&enforcement->firewalls);
	release_votes_done(&enforcement->votes);
}

/* With the lock held. `now` becomes the table; firewalls for which it says something new are queued. */
static void replace_table(struct controller_ctx *ctx, struct map *now, bool has_reports)
{
	struct egressfirewall_enforcement *kept = &egressfirewall_state_of(ctx)->enforcement;
	bool is_all_new = kept->has_reports != has_reports;
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(now, &pos)) != NULL) {
		struct slice ns = { entry->key, entry->key_n };
		char key[EGRESSFIREWALL_KEY_MAX];
		bool is_known =
			!is_all_new &&
			(!has_reports || is_same(entry->value, map_get(&kept->firewalls, ns)));
		if (!kept->is_counted || is_known)
			continue; /* before the first count no status was written */
		snprintf(key, sizeof(key), "%.*s/" EGRESS_FIREWALL_NAME, (int)ns.n, ns.p);
		egressfirewall_queue(ctx, EGRESSFIREWALL_FIREWALL_KEY, key);
	}
	free_entries(&kept->firewalls);
	kept->firewalls = *now;
	kept->is_counted = true;
	kept->has_reports = has_reports;
}

static void add_votes(void *ctx, const struct in_force_report *report)
{
	if (report->released.p != NULL)
		release_votes_add(ctx, report->released);
}

/* With the lock held. Names that wait for nodes look at them again. */
static void replace_votes(struct controller_ctx *ctx, const struct gathered *gathered)
{
	struct egressfirewall_state *state = egressfirewall_state_of(ctx);
	struct release_votes *votes = &state->enforcement.votes;
	const struct map_entry *entry;
	size_t pos = 0;
	release_votes_done(votes);
	release_votes_init(votes);
	in_force_each_report(gathered->nodes.v, gathered->nodes.n, gathered->reports.v,
			     gathered->reports.n, add_votes, votes);
	while ((entry = map_next(&state->objects, &pos)) != NULL) {
		const struct egressfirewall_object *object = entry->value;
		if (object->kept != 0)
			egressfirewall_queue(ctx, EGRESSFIREWALL_NAME_KEY, entry->key);
	}
}

int egressfirewall_reconcile_reports(struct controller_ctx *ctx, const char *name)
{
	struct egressfirewall_state *state = egressfirewall_state_of(ctx);
	uint64_t begin_ns = clock_mono_ns();
	struct gathered gathered = { 0 };
	struct map firewalls;
	(void)name;
	pthread_mutex_lock(&state->lock);
	uint64_t next_ns = state->enforcement.next_ns;
	pthread_mutex_unlock(&state->lock);
	if (begin_ns < next_ns) {
		ctx->again_ns = next_ns - begin_ns;
		return 0;
	}
	map_init(&firewalls);
	gather(ctx, &gathered);
	kube_store_each(ctx->stores[EGRESSFIREWALL_FIREWALLS], add_firewall, &firewalls);
	in_force_count(&firewalls, gathered.nodes.v, gathered.nodes.n, gathered.reports.v,
		       gathered.reports.n);
	pthread_mutex_lock(&state->lock);
	replace_table(ctx, &firewalls, gathered.reports.n != 0);
	replace_votes(ctx, &gathered);
	uint64_t now_ns = clock_mono_ns();
	state->enforcement.next_ns = now_ns + MAX(PASS_GAP_NS, PASS_SHARE * (now_ns - begin_ns));
	pthread_mutex_unlock(&state->lock);
	gathered_done(&gathered);
	return 0;
}

void egressfirewall_count_first(struct controller_ctx *ctx)
{
	struct egressfirewall_state *state = egressfirewall_state_of(ctx);
	pthread_mutex_lock(&state->lock);
	bool is_counted = state->enforcement.is_counted;
	pthread_mutex_unlock(&state->lock);
	if (!is_counted)
		IGNORE(egressfirewall_reconcile_reports(ctx, "")); /* cannot fail */
}

/* ---- for a firewall's status ---- */

static struct api_condition no_agents(void)
{
	return (struct api_condition){ .type = "Enforced",
				       .status = API_UNKNOWN,
				       .reason = "NoAgents",
				       .message =
					       "no node has an agent (fairlead node): nothing is "
					       "known about enforcement" };
}

static struct api_condition condition_of(const struct in_force *entry,
					 char text[EGRESSFIREWALL_ENFORCED_TEXT_MAX])
{
	struct api_condition condition = { .type = "Enforced", .status = API_FALSE };
	condition.message = text;
	snprintf(text, EGRESSFIREWALL_ENFORCED_TEXT_MAX, "in force on %zu of %zu nodes%s%s",
		 entry->n, entry->nodes, entry->missing[0] != '\0' ? "; " : "", entry->missing);
	if (entry->is_bypassed) {
		condition.reason = "DataPathBypassed";
	} else if (entry->n < entry->nodes || entry->nodes == 0) {
		condition.reason = entry->reason != NULL ? entry->reason : "NotOnAllNodes";
	} else {
		condition.status = API_TRUE;
		condition.reason = "AsExpected";
	}
	return condition;
}

bool egressfirewall_enforced(struct controller_ctx *ctx, const json_t *firewall,
			     char text[EGRESSFIREWALL_ENFORCED_TEXT_MAX], struct api_condition *ret)
{
	struct egressfirewall_state *state = egressfirewall_state_of(ctx);
	const struct egressfirewall_enforcement *kept = &state->enforcement;
	egressfirewall_count_first(ctx);
	pthread_mutex_lock(&state->lock);
	const struct in_force *entry = map_get(&kept->firewalls, slice_of(api_namespace(firewall)));
	bool is_entry = entry != NULL && entry->generation == api_generation(firewall) &&
			strcmp(entry->uid, api_uid(firewall)) == 0;
	bool has_none = !kept->has_reports;
	if (has_none)
		*ret = no_agents();
	else if (is_entry)
		*ret = condition_of(entry, text);
	pthread_mutex_unlock(&state->lock);
	return has_none || is_entry;
}
