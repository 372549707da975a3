/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Record sets on their way from a reconcile to the publisher of the controller's engine. */
#include "controller/shared/record_work.h"

#include <stdlib.h>

#include "base/mem.h"

static void leave_account(struct record_work *work)
{
	work->request.account = NULL;
	record_account_close(&work->account);
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
	char error[PROVIDER_ERROR_BYTES];
	if (record_account_open(&work->account, engine_work->engine, ERR_TEXT(error)) < 0) {
		work->request.code = PROVIDER_INVALID;
		work->request.error = xstrdup(error);
		engine_complete(engine_work);
		return;
	}
	work->request.account = work->account.opened;
	publisher_submit(record_account_publisher(&work->account, engine_work->engine),
			 &work->request);
}

static void cancel_work(struct engine_work *engine_work)
{
	struct record_work *work = record_work_of(engine_work);
	publisher_cancel(record_account_publisher(&work->account, engine_work->engine),
			 &work->request);
	leave_account(work);
}

static void free_work(struct engine_work *engine_work)
{
	struct record_work *work = record_work_of(engine_work);
	publisher_request_release(&work->request);
	record_account_done(&work->account);
	free(work->edits);
	free(work->zone);
	free(work);
}

struct record_work *record_work_new(const struct record_work_conf *conf)
{
	static const struct engine_work_ops ops = { start_work, cancel_work, free_work };
	struct record_work *work = xcalloc(1, sizeof(*work));
	*work = (struct record_work){ .work = { .ops = &ops, .waits_for_turn = true } };
	work->zone = conf->zone != NULL ? xstrdup(conf->zone) : NULL;
	work->edits = provider_edits_dup(conf->edits, conf->n_edits);
	record_account_init(&work->account, &conf->account, conf->lease);
	work->request = (struct publisher_request){ .zone = work->zone,
						    .edits = work->edits,
						    .n_edits = conf->n_edits,
						    .priority = conf->priority,
						    .maybe_applied = conf->maybe_applied,
						    .checks_zone = conf->checks_zone,
						    .only_reads = conf->only_reads,
						    .patience_ns = conf->patience_ns,
						    .sent = on_sent,
						    .done = on_done };
	return work;
}
