/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Passes of zones. Their work, a serial or readings, is the engine's, under the zone's key. */
#include "controller/dnsrecord/zone_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/dnsrecord/counters.h"
#include "controller/dnsrecord/secrets/credentials.h"
#include "controller/dnsrecord/zone_notify.h"
#include "controller/dnsrecord/zone_table.h"
#include "controller/dnsrecord/zone_work.h"
#include "controller/engine.h"

/* A zone has one work at a time, which depends on nothing but the zone. */
enum { ZONE_INPUT = 1 };
/* Between two checks that NOTIFYs ask for, which anybody can send. */
#define NOTIFIED_PAUSE_NS NS_PER_S
/* Until the first check where NOTIFYs are received: it finds out what they are compared with, and their key. */
#define NOTIFIED_FIRST_NS (4 * NS_PER_S)

static struct dnsrecord_zone_table *table_of(const struct controller_ctx *ctx)
{
	return &((struct dnsrecord_state *)ctx->state)->zones;
}

bool dnsrecord_is_zone_key(const char *key)
{
	return strncmp(key, DNSRECORD_ZONE_PREFIX, strlen(DNSRECORD_ZONE_PREFIX)) == 0;
}

/* ---- for passes of objects ---- */

bool dnsrecord_watch_set(struct dnsrecord_pass *pass)
{
	const struct dnsrecord *record = &pass->record;
	struct dnsrecord_zone_table *table = table_of(pass->ctx);
	if (pass->settings.serials_ns == 0 || !pass->provider->caps.has_serial ||
	    record->applied->zone == NULL)
		return false;
	const char *zone = dnsrecord_zone_table_add(table, pass->key, record, pass->provider);
	if (zone != NULL)
		pass->ctx->emit(pass->ctx->emit_arg, zone);
	if (zone != NULL && pass->settings.notify != NULL)
		pass->ctx->emit(pass->ctx->emit_arg, DNSRECORD_NOTIFY_KEY);
	CLEANUP(freep) char *drift = dnsrecord_zone_table_take_drift(table, pass->key);
	if (drift == NULL)
		return false;
	dnsrecord_pass_event(pass, true, "Drifted", drift);
	pass->memory.has_drifted = true;
	dnsrecord_remember(pass->ctx, pass->key, &pass->memory);
	return true;
}

void dnsrecord_unwatch_set(const struct controller_ctx *ctx, const char *key)
{
	dnsrecord_zone_table_drop(table_of(ctx), key);
}

/* ---- comparing ---- */

static void take_readings(struct controller_ctx *ctx, struct dnsrecord_zone *zone,
			  const struct dnsrecord_zone_work *work)
{
	size_t n_failed = 0;
	zone->is_comparing = false;
	for (size_t i = 0; i < work->n_readings; i++) {
		const struct dnsrecord_zone_reading *reading = &work->readings[i];
		const struct publisher_request *request = &reading->request;
		const struct provider_rrset *wanted = &reading->edit->set;
		if (work->work.timed_out || request->n_found == 0) {
			n_failed++;
			continue;
		}
		bool is_equal = provider_rrset_equal(&request->found[0], wanted);
		dnsrecord_count_compared(is_equal ? "equal" : "drift");
		if (!is_equal && dnsrecord_zone_table_mark(table_of(ctx), reading->key, wanted,
							   &request->found[0]))
			ctx->emit(ctx->emit_arg, reading->key);
	}
	for (size_t i = 0; i < n_failed; i++)
		dnsrecord_count_compared("failed");
	/* What was not read is compared next time, whatever the serial is. */
	zone->is_known = n_failed == 0;
	if (zone->is_known)
		dnsrecord_zone_checked(zone);
	else
		dnsrecord_zone_failed(zone, clock_mono_ns());
}

static void add_reading(void *ctx, const char *key, const struct provider_rrset *set)
{
	dnsrecord_zone_work_add(ctx, key, set);
}

/* ---- serials ---- */

/* A fault is reported once, until a question is answered. */
static void report_failure(struct dnsrecord_zone *zone, const char *error)
{
	dnsrecord_count_serial("failed");
	if (!zone->has_failed)
		log_warn(DNSRECORD_LOG_AREA, "the serial of zone '%s' cannot be read: %s", zone->id,
			 error);
	zone->has_failed = true;
	dnsrecord_zone_failed(zone, clock_mono_ns());
}

/* True: the sets are to be compared. */
static bool take_serial(struct dnsrecord_zone *zone, const struct dnsrecord_zone_work *work)
{
	const struct zone_serial_request *request = &work->serial;
	if (work->work.timed_out || request->code != PROVIDER_OK) {
		report_failure(zone, work->work.timed_out ? "no answer in time" : request->error);
		return false;
	}
	struct zone_serial before = zone->last;
	bool is_explained = zone->is_known && zone_serial_is_explained(&before, &request->found);
	zone->has_failed = false;
	zone->last = request->found;
	if (is_explained)
		dnsrecord_zone_checked(zone);
	dnsrecord_count_serial(!is_explained			    ? "changed"
			       : before.serial == zone->last.serial ? "same"
								    : "own");
	return !is_explained;
}

/* Zones of several Secrets may be one and the same: they share a call. */
static uint64_t half_before(uint64_t now_ns, uint64_t interval_ns)
{
	return now_ns > interval_ns / 2 ? now_ns - interval_ns / 2 : 0;
}

/* Hands the zone's work to the engine: readings of its sets, or the question for its serial. */
static int start_work(struct controller_ctx *ctx, struct dnsrecord_zone *zone,
		      const struct dnsrecord_settings *settings)
{
	CLEANUP(dnsrecord_credentials_done) struct dnsrecord_credentials credentials = { 0 };
	char why[512];
	int r = dnsrecord_credentials_read(ctx->conn, settings->any_namespace, zone->object,
					   &credentials, ERR_TEXT(why));
	if (r == ERR_CONFIG) {
		report_failure(zone, why);
		return 0;
	}
	if (r < 0) {
		err_text_set(ERR_TEXT(ctx->err), "%s", why);
		return r;
	}
	struct publisher_account_conf account = { .provider = zone->provider,
						  .credentials = credentials.v,
						  .n_credentials = credentials.n,
						  .region = zone->region };
	struct dnsrecord_zone_work *work = dnsrecord_zone_work_new(
		&account, ctx->lease, zone->key, zone->id,
		MAX(half_before(zone->asked_ns, settings->serials_ns), zone->since_ns));
	if (zone->is_comparing)
		dnsrecord_zone_table_each(table_of(ctx), zone, add_reading, work);
	zone->is_comparing = work->n_readings != 0;
	engine_submit(ctx->engine, zone->key, ZONE_INPUT, &work->work);
	return 0;
}

/* The same; the next pass is when the next check is due, which is sooner after a fault. */
static int start_until_due(struct controller_ctx *ctx, struct dnsrecord_zone *zone,
			   const struct dnsrecord_settings *settings)
{
	int r = start_work(ctx, zone, settings);
	uint64_t now = clock_mono_ns();
	ctx->again_ns = zone->due_ns > now ? zone->due_ns - now : 1;
	return r;
}

/* 1: there is further work to be started. */
static int take_result(struct controller_ctx *ctx, struct dnsrecord_zone *zone,
		       struct engine_work *engine_work)
{
	struct dnsrecord_zone_work *work = dnsrecord_zone_work_of(engine_work);
	if (zone->is_comparing)
		take_readings(ctx, zone, work);
	else
		zone->is_comparing = take_serial(zone, work);
	engine_work_free(engine_work);
	return zone->is_comparing;
}

static uint64_t first_due(const struct controller_ctx *ctx,
			  const struct dnsrecord_settings *settings)
{
	uint64_t time_ns = settings->serials_ns;
	if (settings->notify != NULL)
		time_ns = MIN(time_ns, NOTIFIED_FIRST_NS);
	return clock_mono_ns() + dnsrecord_jitter(ctx, time_ns);
}

/* A server says that the zone has changed: it is checked at once, or soon after the check before. */
static void take_notice(struct dnsrecord_zone_table *table, struct dnsrecord_zone *zone,
			uint64_t now_ns)
{
	uint64_t notified_ns = dnsrecord_zone_table_take_notified(table, zone);
	if (notified_ns == 0)
		return;
	zone->since_ns = notified_ns;
	zone->is_notified = true;
	zone->due_ns = MIN(zone->due_ns, MAX(now_ns, zone->asked_ns + NOTIFIED_PAUSE_NS));
}

int dnsrecord_check_zone(struct controller_ctx *ctx, const char *key)
{
	struct dnsrecord_settings settings = dnsrecord_settings_of(ctx);
	struct dnsrecord_zone *zone = dnsrecord_zone_table_get(table_of(ctx), key);
	struct engine_work *work = NULL;
	uint64_t now = clock_mono_ns();
	if (zone == NULL)
		return 0;
	if (zone->due_ns == 0) /* the other sets of the zone become known first */
		zone->due_ns = first_due(ctx, &settings);
	take_notice(table_of(ctx), zone, now);
	enum engine_state at = engine_take(ctx->engine, key, ZONE_INPUT, &work);
	if (at == ENGINE_UNDER_WAY)
		return 0;
	if (at == ENGINE_COMPLETED && take_result(ctx, zone, work))
		return start_until_due(ctx, zone, &settings);
	zone->is_comparing = false;
	if (zone->due_ns > now) {
		ctx->again_ns = zone->due_ns - now;
		return 0;
	}
	if (dnsrecord_zone_table_end(table_of(ctx), zone))
		return 0;
	zone->asked_ns = now;
	zone->due_ns = now + dnsrecord_jitter(ctx, settings.serials_ns);
	return start_until_due(ctx, zone, &settings);
}
