/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connects the embedded API (apiserver/) with the hooks of controllers (kube/webhook/admission.h),
 * which know nothing of each other. */
#include "cmd/embedded_admission.h"

#include <assert.h>

#include "api/tree.h"
#include "controller/manager.h"
#include "kube/webhook/admission.h"

static void add_warnings(struct apiserver_verdict *ret, const json_t *warnings)
{
	size_t i;
	json_t *text;
	json_array_foreach (warnings, i, text)
		strbuf_addf(&ret->warnings, "%s\n", api_text(text));
}

static void call_hooks(const struct embedded_admission *admission, enum admission_phase phase,
		       const struct apiserver_review *review, struct apiserver_verdict *ret)
{
	const struct admission_request req = {
		.group = review->group,
		.kind = review->kind,
		.operation = review->operation,
		.ns = review->ns,
		.name = review->name,
		.sub = review->subresource,
		.user = review->user,
		.dry_run = review->dry_run,
		.object = review->object,
		.old = review->old,
	};
	CLEANUP(admission_reply_done) struct admission_reply reply;
	const struct admission_hook *refusing =
		admission_call_hooks(admission->hooks, admission->n_hooks, phase, &req, &reply);
	add_warnings(ret, reply.warnings);
	if (refusing != NULL) {
		ret->refused_by = refusing->name;
		ret->code = admission_refusal_code(&reply);
		strbuf_add_slice(&ret->message, strbuf_slice(&reply.message));
	} else if (reply.object != NULL && !json_equal(reply.object, review->object)) {
		ret->object = json_incref(reply.object);
	}
}

/* Copies that were complete once follow the API from then on. */
static bool is_synced(struct embedded_admission *admission)
{
	if (!admission->is_synced && manager_is_synced(admission->manager))
		admission->is_synced = true;
	return admission->is_synced;
}

static void review_write(void *ctx, const struct apiserver_review *review,
			 struct apiserver_verdict *ret)
{
	struct embedded_admission *admission = ctx;
	enum admission_phase phase = review->mutates ? ADMISSION_MUTATE : ADMISSION_VALIDATE;
	pthread_rwlock_rdlock(&admission->lock);
	/* Most kinds have no hook: they cost no copy of the object. */
	bool has_hook = admission_has_hook(admission->hooks, admission->n_hooks, phase,
					   review->group, review->kind);
	if (has_hook && is_synced(admission))
		call_hooks(admission, phase, review, ret);
	else if (has_hook && review->mutates)
		strbuf_adds(&ret->warnings, "Controllers are still starting: they did not change "
					    "or check this object.\n");
	pthread_rwlock_unlock(&admission->lock);
}

void embedded_admission_init(struct embedded_admission *admission)
{
	*admission = (struct embedded_admission){
		.interface = { .review = review_write, .ctx = admission },
		.lock = PTHREAD_RWLOCK_INITIALIZER,
	};
}

void embedded_admission_attach(struct embedded_admission *admission, struct manager *manager)
{
	pthread_rwlock_wrlock(&admission->lock);
	assert(admission->manager == NULL);
	admission->manager = manager;
	if (manager != NULL)
		admission->hooks = manager_hooks(manager, &admission->n_hooks);
	pthread_rwlock_unlock(&admission->lock);
}

void embedded_admission_detach(struct embedded_admission *admission)
{
	pthread_rwlock_wrlock(&admission->lock);
	admission->manager = NULL;
	admission->hooks = NULL;
	admission->n_hooks = 0;
	admission->is_synced = false;
	pthread_rwlock_unlock(&admission->lock);
}
