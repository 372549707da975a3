/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides by its heartbeat whether an extension runs, and by its Deployment what it does. A Lease alone says nothing:
 * in some namespace many may write one. Clocks are compared only to skip what is minutes old: nobody gives a
 * heartbeat back. */
#include "controller/dnsrecord/rivals.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "api/time.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "controller/dnsrecord/plan/extension.h"
#include "controller/dnsrecord/watches.h"
#include "controller/shared/lease_age.h"
#include "kube/client/client.h"
#include "kube/client/object.h"
#include "kube/decode/tree.h"

enum {
	OLD_S = 300, /* more than clocks in a cluster differ by */
	ERROR_AGAIN_S = 1,
};

struct rival {
	const struct dnsrecord_extension *extension;
	char *ns, *classes;
};

struct rival_list {
	VEC(struct rival) list;
};

struct dnsrecord_rivals {
	atomic_bool is_checked;
	pthread_mutex_t checking; /* one worker checks at a time: guards `seen` */
	struct map seen;	  /* struct lease_age by namespace */
	pthread_mutex_t lock;	  /* guards `running` */
	struct rival_list running;
};

struct dnsrecord_rivals *dnsrecord_rivals_new(void)
{
	struct dnsrecord_rivals *rivals = xcalloc(1, sizeof(*rivals));
	pthread_mutex_init(&rivals->checking, NULL);
	pthread_mutex_init(&rivals->lock, NULL);
	map_init(&rivals->seen);
	return rivals;
}

static void free_list(struct rival_list *rivals)
{
	for (size_t i = 0; i < rivals->list.n; i++) {
		free(rivals->list.v[i].ns);
		free(rivals->list.v[i].classes);
	}
	vec_done(&rivals->list);
}

void dnsrecord_rivals_free(struct dnsrecord_rivals *rivals)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&rivals->seen, &pos)) != NULL) {
		lease_age_done(entry->value);
		free(entry->value);
	}
	map_done(&rivals->seen);
	free_list(&rivals->running);
	pthread_mutex_destroy(&rivals->lock);
	pthread_mutex_destroy(&rivals->checking);
	free(rivals);
}

static struct dnsrecord_rivals *rivals_of(const struct controller_ctx *ctx)
{
	return ((struct dnsrecord_state *)ctx->state)->rivals;
}

/* ---- one heartbeat ---- */

static bool is_old(const json_t *lease)
{
	uint64_t renewed_ns;
	return api_time_parse(api_get_string(lease, "spec.renewTime"), &renewed_ns) == 0 &&
	       renewed_ns + dnsrecord_extension_duration_ns(lease) + OLD_S * NS_PER_S <
		       clock_wall_ns();
}

/* Nanoseconds until it expires, by this version of it; 0: it has. */
static uint64_t time_left_ns(struct dnsrecord_rivals *rivals, const json_t *lease)
{
	struct slice ns = slice_of(api_namespace(lease));
	struct lease_age *age = map_get(&rivals->seen, ns);
	if (age == NULL) {
		age = xcalloc(1, sizeof(*age));
		map_set(&rivals->seen, ns, age);
	}
	uint64_t left_ns = lease_age_left_ns(age, lease, dnsrecord_extension_duration_ns(lease),
					     clock_mono_ns());
	return is_old(lease) ? 0 : left_ns;
}

/* The watch may be behind: before a heartbeat counts as expired, the API is asked. */
static uint64_t confirm_expiry(const struct controller_ctx *ctx, struct dnsrecord_rivals *rivals,
			       const char *ns)
{
	struct kube_ref ref = { .kind = api_kind_find("coordination.k8s.io", "Lease"),
				.ns = ns,
				.name = DNSRECORD_HEARTBEAT };
	struct kube_status status = { 0 };
	json_t *lease = NULL;
	uint64_t left_ns = 0;
	int r = kube_get(ctx->conn, &ref, &lease, &status);
	if (r == 0)
		left_ns = time_left_ns(rivals, lease);
	else if (r != ERR_NOTFOUND)
		left_ns = ERROR_AGAIN_S * NS_PER_S;
	kube_status_done(&status);
	json_decref(lease);
	return left_ns;
}

/* With --take-lease we hold the Lease that it needs to work. */
static bool is_taken(const struct controller_ctx *ctx, const struct dnsrecord_extension *extension,
		     const char *ns)
{
	CLEANUP(freep) char *lease = xasprintf("%s-leader-election", extension->name);
	const char *taken_ns = ctx->taken.ns != NULL ? ctx->taken.ns : ctx->ns;
	return ctx->taken.name != NULL && strcmp(ctx->taken.name, lease) == 0 &&
	       strcmp(taken_ns, ns) == 0;
}

/* The classes that it publishes; without its Deployment none, without an answer about that all of them. */
static char *read_classes(const struct controller_ctx *ctx,
			  const struct dnsrecord_extension *extension, const char *ns)
{
	CLEANUP(freep) char *name = xasprintf("gardener-extension-%s", extension->name);
	struct kube_ref ref = { .kind = api_kind_find("apps", "Deployment"),
				.ns = ns,
				.name = name };
	struct kube_status status = { 0 };
	json_t *deployment = NULL;
	int r = kube_get(ctx->conn, &ref, &deployment, &status);
	char *classes = r == ERR_NOTFOUND ? xstrdup("")
					  : dnsrecord_extension_classes(r == 0 ? deployment : NULL);
	kube_status_done(&status);
	json_decref(deployment);
	return classes;
}

/* ---- all heartbeats ---- */

struct check {
	const struct controller_ctx *ctx;
	VEC(struct kube_obj *) leases; /* references */
	struct rival_list found;
	uint64_t again_ns; /* the first expiry; 0: none */
};

static bool take_reference(void *ctx, struct kube_obj *lease)
{
	struct check *check = ctx;
	if (strcmp(lease->ns, check->ctx->ns) != 0)
		vec_push(&check->leases, kube_obj_ref(lease));
	return true;
}

static void check_heartbeat(struct check *check, struct dnsrecord_rivals *rivals,
			    const json_t *lease)
{
	struct dnsrecord_settings settings = dnsrecord_settings_of(check->ctx);
	const char *ns = api_namespace(lease);
	const struct dnsrecord_extension *extension =
		dnsrecord_extension_find(api_get_string(lease, "spec.holderIdentity"));
	if (extension == NULL || dnsrecord_find_provider(&settings, extension->type) == NULL ||
	    is_taken(check->ctx, extension, ns))
		return;
	uint64_t left_ns = time_left_ns(rivals, lease);
	if (left_ns == 0 && !is_old(lease))
		left_ns = confirm_expiry(check->ctx, rivals, ns);
	if (left_ns == 0)
		return;
	check->again_ns = check->again_ns != 0 ? MIN(check->again_ns, left_ns) : left_ns;
	CLEANUP(freep) char *classes = read_classes(check->ctx, extension, ns);
	if (classes[0] != '\0')
		vec_push(&check->found.list,
			 (struct rival){ extension, xstrdup(ns), TAKE_PTR(classes) });
}

static bool has_rival(const struct rival_list *rivals, const struct rival *rival)
{
	for (size_t i = 0; i < rivals->list.n; i++) {
		const struct rival *other = &rivals->list.v[i];
		if (other->extension == rival->extension && strcmp(other->ns, rival->ns) == 0 &&
		    strcmp(other->classes, rival->classes) == 0)
			return true;
	}
	return false;
}

/* True: they are not those of before. */
static bool log_changes(const struct rival_list *before, const struct rival_list *after)
{
	bool has_changed = false;
	for (size_t i = 0; i < before->list.n; i++) {
		const struct rival *rival = &before->list.v[i];
		if (has_rival(after, rival))
			continue;
		has_changed = true;
		log_info(DNSRECORD_LOG_AREA,
			 "extension '%s' in namespace '%s' does not publish DNSRecords of type "
			 "'%s' and class %s any more: taking over",
			 rival->extension->name, rival->ns, rival->extension->type, rival->classes);
	}
	for (size_t i = 0; i < after->list.n; i++) {
		const struct rival *rival = &after->list.v[i];
		if (has_rival(before, rival))
			continue;
		has_changed = true;
		log_warn(DNSRECORD_LOG_AREA,
			 "extension '%s' in namespace '%s' publishes DNSRecords of type '%s' and "
			 "class %s: they are left to it. To take over, set 'disableControllers: "
			 "[dnsrecord]' in the values of its chart, or scale its Deployment to 0",
			 rival->extension->name, rival->ns, rival->extension->type, rival->classes);
	}
	return has_changed;
}

/* Under `checking`. True: others run than before. Elsewhere than beside Gardener there are none of its extensions. */
static bool check_all(const struct controller_ctx *ctx, struct dnsrecord_rivals *rivals,
		      uint64_t *ret_again_ns)
{
	struct check check = { .ctx = ctx };
	if (dnsrecord_settings_of(ctx).is_gardener)
		kube_store_each(ctx->stores[DNSRECORD_HEARTBEATS], take_reference, &check);
	for (size_t i = 0; i < check.leases.n; i++) {
		check_heartbeat(&check, rivals, kube_tree_of(check.leases.v[i]));
		kube_obj_unref(check.leases.v[i]);
	}
	vec_done(&check.leases);
	pthread_mutex_lock(&rivals->lock);
	bool has_changed = log_changes(&rivals->running, &check.found);
	free_list(&rivals->running);
	rivals->running = check.found;
	pthread_mutex_unlock(&rivals->lock);
	rivals->is_checked = true;
	*ret_again_ns = check.again_ns;
	return has_changed;
}

/* ---- passes ---- */

bool dnsrecord_rivals_have(const struct dnsrecord_pass *pass)
{
	struct dnsrecord_rivals *rivals = rivals_of(pass->ctx);
	bool is_theirs = false;
	if (!rivals->is_checked) {
		uint64_t again_ns = 0;
		pthread_mutex_lock(&rivals->checking);
		if (!rivals->is_checked)
			check_all(pass->ctx, rivals, &again_ns);
		pthread_mutex_unlock(&rivals->checking);
		if (again_ns != 0) /* whose pass waits for the end of a rival */
			pass->ctx->emit(pass->ctx->emit_arg, DNSRECORD_RIVALS_KEY);
	}
	pthread_mutex_lock(&rivals->lock);
	for (size_t i = 0; i < rivals->running.list.n && !is_theirs; i++) {
		const struct rival *rival = &rivals->running.list.v[i];
		is_theirs = strcmp(rival->extension->type, pass->record.spec.type) == 0 &&
			    dnsrecord_has_class(&pass->record, rival->classes);
	}
	pthread_mutex_unlock(&rivals->lock);
	return is_theirs;
}

int dnsrecord_rivals_check(struct controller_ctx *ctx)
{
	struct dnsrecord_rivals *rivals = rivals_of(ctx);
	pthread_mutex_lock(&rivals->checking);
	bool has_changed = check_all(ctx, rivals, &ctx->again_ns);
	pthread_mutex_unlock(&rivals->checking);
	if (has_changed)
		dnsrecord_queue_records(ctx);
	return 0;
}

void dnsrecord_rivals_note(void *state, struct strbuf *out)
{
	struct dnsrecord_rivals *rivals = ((struct dnsrecord_state *)state)->rivals;
	pthread_mutex_lock(&rivals->lock);
	for (size_t i = 0; i < rivals->running.list.n; i++) {
		const struct rival *rival = &rivals->running.list.v[i];
		strbuf_addf(out,
			    "controller dnsrecord waits: extension '%s' in namespace '%s' "
			    "publishes DNSRecords of type '%s' and class %s\n",
			    rival->extension->name, rival->ns, rival->extension->type,
			    rival->classes);
	}
	pthread_mutex_unlock(&rivals->lock);
}
