/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the DNS object while its CRD is new. After a CRD was changed, an API server keeps its present
 * watches for a moment, and those show objects without the new fields. The fields never come later,
 * because for the watch nothing has changed. So the object is read for a while. */
#include "controller/dnsoperator/reread_dns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "base/clock.h"
#include "kube/decode/obj.h"
#include "kube/decode/tree.h"

enum { NEW_S = 60, SETTLED_S = 3 };

static bool crd_is_new(const struct controller_ctx *ctx)
{
	struct dnsoperator_state *state = ctx->state;
	struct kube_obj *crd = kube_store_get(ctx->stores[DNSOPERATOR_WATCH_CRD], SLICE(""),
					      SLICE(DNSOPERATOR_CRD_NAME));
	uint64_t now = clock_mono_ns();
	if (crd != NULL && strcmp(crd->rv, state->crd_rv) != 0) {
		snprintf(state->crd_rv, sizeof(state->crd_rv), "%s", crd->rv);
		state->crd_ns = now;
		state->crd_settled = false;
	}
	kube_obj_unref(crd);
	return crd != NULL && now < state->crd_ns + NEW_S * NS_PER_S;
}

/* The old CRD may have dropped observedGeneration: it is written again, now and when the API server
 * certainly uses the new one. */
static void send_generation_again(struct controller_ctx *ctx)
{
	struct dnsoperator_state *state = ctx->state;
	if (state->crd_settled)
		return;
	state->observed_generation = 0;
	state->crd_settled = clock_mono_ns() >= state->crd_ns + SETTLED_S * NS_PER_S;
	if (!state->crd_settled)
		dnsoperator_requeue_after(ctx, SETTLED_S * NS_PER_S);
}

int dnsoperator_reread_dns(struct dnsoperator_pass *pass)
{
	json_t *o = NULL;
	if (!crd_is_new(pass->ctx))
		return 0;
	send_generation_again(pass->ctx);
	int r = dnsoperator_get(pass->ctx, "/apis/operator.openshift.io/v1/dnses/default",
				"DNS default", &o);
	if (o == NULL)
		return r;
	struct kube_codec *codec =
		kube_tree_codec(api_kind_find("operator.openshift.io", "DNS"), NULL, 0);
	struct kube_obj *fresh = NULL;
	char *text = json_dumps(o, JSON_COMPACT);
	r = codec->decode(codec, slice_of(text), &fresh);
	if (r >= 0) {
		kube_obj_unref(pass->dns);
		pass->dns = fresh;
	}
	kube_codec_free(codec);
	free(text);
	json_decref(o);
	return r < 0 ? r : 0;
}
