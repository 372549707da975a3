/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Questions for the serials of zones: each is one call in the account's turn, after urgent work. */
#include "provider/zone_serial.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "provider/account_priv.h"
#include "provider/call_priv.h"
#include "provider/shared/job.h"
#include "provider/zone_queue_priv.h"

/* Nobody knows whether a write whose reply was lost has raised the serial: no difference explains it. */
#define UNSURE_WRITES ((uint64_t)1 << 32)
/* Between two looks whether own writes have ended. */
#define PAUSE_NS (100 * NS_PER_MS)

struct zone_serial_call {
	struct zone_serial_call *next, *prev; /* of the account */
	struct zone_serial_request *request;
	struct publisher_zone *zone;
	struct account_turn turn;
	struct publisher_call call;
	struct loop_timer timer; /* reports what is known already, or asks after own writes */
	uint64_t wait_until_ns;	 /* for the end of own writes */
	uint64_t asked_ns;
	uint64_t writes_before; /* of the zone, when it was asked */
};

void zone_serial_note_write(struct publisher_zone *zone, enum provider_code code,
			    bool surely_changes)
{
	if (code == PROVIDER_OK)
		zone->writes += surely_changes;
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
	loop_timer_stop(account->loop, &call->timer);
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

static bool is_known(const struct zone_serial_call *call)
{
	return call->zone->serial_ns > call->request->since_ns;
}

static void ask_or_wait(struct zone_serial_call *call)
{
	struct publisher_account *account = call->zone->account;
	uint64_t now = loop_now(account->loop);
	if (is_known(call))
		loop_timer_set(account->loop, &call->timer, now);
	else if (call->zone->n_writing != 0 && now < call->wait_until_ns)
		loop_timer_set(account->loop, &call->timer, now + PAUSE_NS);
	else
		account_turn_wait(account, &call->turn);
}

static void on_timer(struct loop_timer *timer)
{
	struct zone_serial_call *call = CONTAINER_OF(timer, struct zone_serial_call, timer);
	if (is_known(call))
		report_serial(call);
	else
		ask_or_wait(call);
}

/* Whether an own write is in the serial that was read, or not, is not known. */
static bool is_mixed(const struct zone_serial_call *call)
{
	return (call->zone->n_writing != 0 || call->zone->writes != call->writes_before) &&
	       loop_now(call->zone->account->loop) < call->wait_until_ns;
}

static void on_finished(struct publisher_call *publisher_call)
{
	struct zone_serial_call *call = CONTAINER_OF(publisher_call, struct zone_serial_call, call);
	struct zone_serial_request *request = call->request;
	const struct provider_job *job = &call->call.job;
	if (job->code == PROVIDER_OK && is_mixed(call)) {
		ask_or_wait(call);
		return;
	}
	request->code = job->code;
	memcpy(request->error, job->error, sizeof(request->error));
	if (job->code == PROVIDER_OK) {
		call->zone->serial = (struct zone_serial){ job->serial, call->zone->writes };
		call->zone->serial_ns = call->asked_ns;
	}
	report_serial(call);
}

static void run_turn(struct account_turn *turn)
{
	struct zone_serial_call *call = CONTAINER_OF(turn, struct zone_serial_call, turn);
	call->call.job.kind = PROVIDER_SERIAL;
	call->call.job.zone = call->zone->id;
	call->asked_ns = loop_now(call->zone->account->loop);
	call->writes_before = call->zone->writes;
	call_start(&call->call);
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
		.timer = { .cb = on_timer },
		.wait_until_ns = loop_now(account->loop) + ZONE_SERIAL_WAIT_S * NS_PER_S,
	};
	if (account->serials != NULL)
		account->serials->prev = call;
	account->serials = call;
	request->call = call;
	request->code = PROVIDER_OK;
	request->error[0] = '\0';
	ask_or_wait(call);
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
