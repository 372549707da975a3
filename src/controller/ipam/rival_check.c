/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides by its Lease whether the in-cluster provider runs. */
#include "controller/ipam/rival_check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "api/tree.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/ipam/state.h"
#include "controller/ipam/watches.h"
#include "controller/shared/lease_age.h"
#include "kube/client/client.h"
#include "kube/client/object.h"
#include "kube/decode/tree.h"
#include "kube/leader/lease.h"

#define LOG_AREA "controller/ipam"

enum {
	DURATION_S = 15, /* of a Lease that has none: client-go's */
	ERROR_AGAIN_S = 1,
};

enum presence { NOT_CHECKED, ABSENT, RUNNING };

struct ipam_rival {
	_Atomic enum presence presence; /* written by whoever checks */
	pthread_mutex_t checking;	/* one worker checks at a time: guards age */
	struct lease_age age;
	pthread_mutex_t naming; /* guards holder */
	char *holder;		/* while it runs */
};

struct ipam_rival *ipam_rival_new(void)
{
	struct ipam_rival *rival = xcalloc(1, sizeof(*rival));
	pthread_mutex_init(&rival->checking, NULL);
	pthread_mutex_init(&rival->naming, NULL);
	return rival;
}

void ipam_rival_free(struct ipam_rival *rival)
{
	if (rival == NULL)
		return;
	pthread_mutex_destroy(&rival->checking);
	pthread_mutex_destroy(&rival->naming);
	free(rival->holder);
	lease_age_done(&rival->age);
	free(rival);
}

/* ---- checking the Lease ---- */

/* With --take-lease we hold it ourselves. */
static bool is_held_by_rival(const struct controller_ctx *ctx, const json_t *lease)
{
	const char *holder = api_get_string(lease, "spec.holderIdentity");
	return holder[0] != '\0' &&
	       (ctx->lease == NULL || strcmp(holder, lease_identity(ctx->lease)) != 0);
}

static uint64_t duration_ns_of(const json_t *lease)
{
	json_int_t duration_s = json_integer_value(api_get(lease, "spec.leaseDurationSeconds"));
	return (uint64_t)(duration_s > 0 ? duration_s : DURATION_S) * NS_PER_S;
}

static uint64_t time_left_ns(struct ipam_rival *rival, const json_t *lease)
{
	return lease_age_left_ns(&rival->age, lease, duration_ns_of(lease), clock_mono_ns());
}

/* The watch may be behind: before the Lease counts as expired, the API is asked. */
static uint64_t confirm_expiry(const struct controller_ctx *ctx, struct ipam_rival *rival)
{
	struct kube_ref ref = { .kind = api_kind_find("coordination.k8s.io", "Lease"),
				.ns = IPAM_RIVAL_NS,
				.name = IPAM_RIVAL_LEASE };
	struct kube_status st = { 0 };
	json_t *lease = NULL;
	uint64_t left_ns = 0;
	int r = kube_get(ctx->conn, &ref, &lease, &st);
	if (r == 0 && is_held_by_rival(ctx, lease))
		left_ns = time_left_ns(rival, lease);
	else if (r < 0 && r != ERR_NOTFOUND)
		left_ns = ERROR_AGAIN_S * NS_PER_S;
	kube_status_done(&st);
	json_decref(lease);
	return left_ns;
}

static void set_presence(struct ipam_rival *rival, enum presence presence, const char *holder)
{
	if (presence == RUNNING && rival->presence != RUNNING)
		log_warn(LOG_AREA,
			 "lease '" IPAM_RIVAL_LEASE "' in namespace '" IPAM_RIVAL_NS
			 "' is held by '%s': nothing is written until that program stops",
			 holder);
	else if (presence == ABSENT && rival->presence == RUNNING)
		log_info(LOG_AREA, "lease '" IPAM_RIVAL_LEASE "' in namespace '" IPAM_RIVAL_NS
				   "' is not held any more: taking over");
	pthread_mutex_lock(&rival->naming);
	free(rival->holder);
	rival->holder = presence == RUNNING ? xstrdup(holder) : NULL;
	pthread_mutex_unlock(&rival->naming);
	rival->presence = presence;
}

/* Sets the presence; nanoseconds until the Lease expires, 0 if the rival does not run. */
static uint64_t check_lease(const struct controller_ctx *ctx, struct ipam_rival *rival)
{
	struct kube_obj *seen = kube_store_get(ctx->stores[IPAM_RIVAL], SLICE(IPAM_RIVAL_NS),
					       SLICE(IPAM_RIVAL_LEASE));
	const json_t *lease = seen != NULL ? kube_tree_of(seen) : NULL;
	uint64_t left_ns = 0;
	if (lease != NULL && is_held_by_rival(ctx, lease)) {
		left_ns = time_left_ns(rival, lease);
		if (left_ns == 0)
			left_ns = confirm_expiry(ctx, rival);
	}
	set_presence(rival, left_ns != 0 ? RUNNING : ABSENT,
		     api_get_string(lease, "spec.holderIdentity"));
	kube_obj_unref(seen);
	return left_ns;
}

/* ---- passes ---- */

bool ipam_rival_runs(const struct controller_ctx *ctx)
{
	struct ipam_rival *rival = ipam_state_of(ctx)->rival;
	if (rival->presence == NOT_CHECKED) {
		pthread_mutex_lock(&rival->checking);
		if (rival->presence == NOT_CHECKED && check_lease(ctx, rival) != 0)
			ctx->emit(ctx->emit_arg, IPAM_RIVAL_KEY); /* which waits for its end */
		pthread_mutex_unlock(&rival->checking);
	}
	return rival->presence == RUNNING;
}

int ipam_reconcile_rival(struct controller_ctx *ctx)
{
	struct ipam_rival *rival = ipam_state_of(ctx)->rival;
	pthread_mutex_lock(&rival->checking);
	bool ran = rival->presence == RUNNING;
	ctx->again_ns = check_lease(ctx, rival);
	bool runs = rival->presence == RUNNING;
	pthread_mutex_unlock(&rival->checking);
	if (ran && !runs)
		ipam_queue_everything(ctx);
	return 0;
}

void ipam_rival_note(void *state, struct strbuf *out)
{
	struct ipam_rival *rival = ((struct ipam_state *)state)->rival;
	pthread_mutex_lock(&rival->naming);
	if (rival->holder != NULL)
		strbuf_addf(out,
			    "controller ipam waits: lease '" IPAM_RIVAL_LEASE
			    "' in namespace '" IPAM_RIVAL_NS "' is held by '%s'\n",
			    rival->holder);
	pthread_mutex_unlock(&rival->naming);
}
