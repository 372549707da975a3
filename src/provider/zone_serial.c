/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Questions for the serials of zones: each is one call in the account's turn, after urgent work. */
#include "provider/zone_serial.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "provider/account_priv.h"
#include "provider/call_priv.h"
#include "provider/shared/job.h"
#include "provider/zone_queue_priv.h"

/* Nobody knows whether a write whose reply was lost has raised the serial: no difference explains it. */
#define UNSURE_WRITES ((uint64_t)1 << 32)

struct zone_serial_call {
	struct zone_serial_call *next, *prev; /* of the account */
	struct zone_serial_request *request;
	struct publisher_zone *zone;
	struct account_turn turn;
	struct publisher_call call;
	struct loop_timer known; /* reports what is known already */
};

void zone_serial_note_write(struct publisher_zone *zone, enum provider_code code)
{
	if (code == PROVIDER_OK)
		zone->writes++;
	else if (code == PROVIDER_UNSURE)
		zone->writes += UNSURE_WRITES;
}

bool zone_serial_is_explained(const struct zone_serial *before, const struct zone_serial *now)
{
	uint32_t difference = now->serial - before->serial; /* serials wrap (RFC 1982) */
	return difference == now->writes - before->writes;
}

static void free_call(struct zone_serial_call *call)
{
	struct publisher_account *account = call->zone->account;
	loop_timer_stop(account->loop, &call->known);
	account_turn_leave(account, &call->turn);
	call_cancel(&call->call);
	provider_job_clear(&call->call.job);
	if (call->prev != NULL)
		call->prev->next = call->next;
	else
		account->serials = call->next;
	if (call->next != NULL)
		call->next->prev = call->prev;
	call->request->call = NULL;
	free(call);
}

static void report_serial(struct zone_serial_call *call)
{
	struct zone_serial_request *request = call->request;
	request->found = call->zone->serial;
	free_call(call);
	request->done(request);
}

static void on_known(struct loop_timer *timer)
{
	report_serial(CONTAINER_OF(timer, struct zone_serial_call, known));
}

static void on_finished(struct publisher_call *publisher_call)
{
	struct zone_serial_call *call = CONTAINER_OF(publisher_call, struct zone_serial_call, call);
	struct zone_serial_request *request = call->request;
	const struct provider_job *job = &call->call.job;
	request->code = job->code;
	memcpy(request->error, job->error, sizeof(request->error));
	if (job->code == PROVIDER_OK) {
		call->zone->serial = (struct zone_serial){ job->serial, call->zone->writes };
		call->zone->serial_ns = loop_now(call->zone->account->loop);
	}
	report_serial(call);
}

static void run_turn(struct account_turn *turn)
{
	struct zone_serial_call *call = CONTAINER_OF(turn, struct zone_serial_call, turn);
	call->call.job.kind = PROVIDER_SERIAL;
	call->call.job.zone = call->zone->id;
	call_start(&call->call);
}

static bool is_known(const struct publisher_zone *zone, uint64_t max_age_ns)
{
	return zone->serial_ns != 0 && loop_now(zone->account->loop) - zone->serial_ns < max_age_ns;
}

void zone_serial_submit(struct zone_serial_request *request)
{
	struct publisher_account *account = request->account;
	struct zone_serial_call *call = xcalloc(1, sizeof(*call));
	assert(request->call == NULL && account->provider->caps.has_serial);
	*call = (struct zone_serial_call){
		.next = account->serials,
		.request = request,
		.zone = account_zone(account, request->zone),
		.turn = { .run = run_turn, .priority = PUBLISHER_PERIODIC },
		.call = { .account = account, .finished = on_finished },
		.known = { .cb = on_known },
	};
	if (account->serials != NULL)
		account->serials->prev = call;
	account->serials = call;
	request->call = call;
	request->code = PROVIDER_OK;
	request->error[0] = '\0';
	if (is_known(call->zone, request->max_age_ns))
		loop_timer_set(account->loop, &call->known, loop_now(account->loop));
	else
		account_turn_wait(account, &call->turn);
}

void zone_serial_cancel(struct zone_serial_request *request)
{
	if (request->call != NULL)
		free_call(request->call);
}

void zone_serial_abort_all(struct publisher_account *account)
{
	while (account->serials != NULL)
		free_call(account->serials);
}
