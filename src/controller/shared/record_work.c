/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Record sets on their way from a reconcile to the publisher of the controller's engine. */
#include "controller/shared/record_work.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/secret.h"
#include "kube/leader/lease.h"

/* ---- the publisher of an engine ---- */

struct publisher_part {
	struct engine_part part;
	struct publisher *publisher;
};

static void free_publisher(struct engine_part *part)
{
	struct publisher_part *own = CONTAINER_OF(part, struct publisher_part, part);
	publisher_free(own->publisher);
	free(own);
}

static uint64_t read_lease_end(void *ctx)
{
	return lease_end_by_ns(ctx);
}

/* The engine runs only while its controller leads: one lease for all of its work. */
static struct publisher *find_publisher(struct engine *engine, struct lease *lease)
{
	static const struct engine_part_kind kind = { free_publisher };
	struct engine_part *part = engine_find_part(engine, &kind);
	if (part == NULL) {
		struct publisher_part *own = xcalloc(1, sizeof(*own));
		own->publisher =
			publisher_new(&(struct publisher_conf){ .loop = engine_loop(engine),
								.lease_end_by = read_lease_end,
								.ctx = lease });
		engine_add_part(engine, &kind, &own->part);
		part = &own->part;
	}
	return CONTAINER_OF(part, struct publisher_part, part)->publisher;
}

/* ---- the work ---- */

static void leave_account(struct record_work *work)
{
	publisher_account_unref(TAKE_PTR(work->request.account));
}

static void on_done(struct publisher_request *request)
{
	struct record_work *work = CONTAINER_OF(request, struct record_work, request);
	leave_account(work);
	engine_complete(&work->work);
}

static void on_sent(struct publisher_request *request)
{
	engine_begin(&CONTAINER_OF(request, struct record_work, request)->work);
}

static void start_work(struct engine_work *engine_work)
{
	struct record_work *work = record_work_of(engine_work);
	struct publisher *publisher = find_publisher(engine_work->engine, work->lease);
	struct publisher_account_conf conf = { .provider = work->provider,
					       .credentials = work->credentials,
					       .n_credentials = work->n_credentials,
					       .region = work->region };
	char error[PROVIDER_ERROR_BYTES];
	if (publisher_account_open(publisher, &conf, &work->request.account, ERR_TEXT(error)) < 0) {
		work->request.code = PROVIDER_INVALID;
		work->request.error = xstrdup(error);
		engine_complete(engine_work);
		return;
	}
	publisher_submit(publisher, &work->request);
}

static void cancel_work(struct engine_work *engine_work)
{
	struct record_work *work = record_work_of(engine_work);
	publisher_cancel(find_publisher(engine_work->engine, work->lease), &work->request);
	leave_account(work);
}

static void free_work(struct engine_work *engine_work)
{
	struct record_work *work = record_work_of(engine_work);
	publisher_request_release(&work->request);
	for (size_t i = 0; i < work->n_credentials; i++) {
		free((void *)(uintptr_t)work->credentials[i].name);
		secret_done(&work->secrets[i]);
	}
	free(work->credentials);
	free(work->secrets);
	free(work->edits);
	free(work->region);
	free(work->zone);
	free(work);
}

static void copy_credentials(struct record_work *work, const struct publisher_account_conf *conf)
{
	size_t n = conf->n_credentials;
	work->n_credentials = n;
	work->credentials = xcalloc(n + 1, sizeof(*work->credentials));
	work->secrets = xcalloc(n + 1, sizeof(*work->secrets));
	for (size_t i = 0; i < n; i++) {
		secret_set(&work->secrets[i], conf->credentials[i].value);
		work->credentials[i] = (struct provider_credential){
			.name = xstrdup(conf->credentials[i].name),
			.value = secret_slice(&work->secrets[i]),
		};
	}
}

struct record_work *record_work_new(const struct record_work_conf *conf)
{
	static const struct engine_work_ops ops = { start_work, cancel_work, free_work };
	struct record_work *work = xcalloc(1, sizeof(*work));
	*work = (struct record_work){ .work = { .ops = &ops, .waits_for_turn = true },
				      .provider = conf->account.provider,
				      .lease = conf->lease };
	work->region = conf->account.region != NULL ? xstrdup(conf->account.region) : NULL;
	work->zone = conf->zone != NULL ? xstrdup(conf->zone) : NULL;
	work->edits = provider_edits_dup(conf->edits, conf->n_edits);
	copy_credentials(work, &conf->account);
	work->request = (struct publisher_request){ .zone = work->zone,
						    .edits = work->edits,
						    .n_edits = conf->n_edits,
						    .priority = conf->priority,
						    .maybe_applied = conf->maybe_applied,
						    .only_reads = conf->only_reads,
						    .patience_ns = conf->patience_ns,
						    .sent = on_sent,
						    .done = on_done };
	return work;
}
