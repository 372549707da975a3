/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serials and sets of a zone by the publisher, which makes batches of the readings. */
#include "controller/dnsrecord/zone_work.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "controller/dnsrecord/zone_notify.h"

enum {
	TIMEOUT_S = 600, /* of all readings */
	PATIENCE_S = 120 /* of one */
};

static void complete(struct dnsrecord_zone_work *work)
{
	record_account_close(&work->account);
	engine_complete(&work->work);
}

static void on_serial(struct zone_serial_request *request)
{
	complete(CONTAINER_OF(request, struct dnsrecord_zone_work, serial));
}

static void on_read(struct publisher_request *request)
{
	struct dnsrecord_zone_work *work =
		CONTAINER_OF(request, struct dnsrecord_zone_reading, request)->work;
	if (--work->n_left == 0)
		complete(work);
}

static void start_readings(struct dnsrecord_zone_work *work)
{
	struct publisher *publisher = record_account_publisher(&work->account, work->work.engine);
	work->n_left = work->n_readings;
	for (size_t i = 0; i < work->n_readings; i++) {
		struct dnsrecord_zone_reading *reading = &work->readings[i];
		reading->work = work;
		reading->request = (struct publisher_request){ .account = work->account.opened,
							       .zone = work->zone,
							       .edits = reading->edit,
							       .n_edits = 1,
							       .priority = PUBLISHER_PERIODIC,
							       .only_reads = true,
							       .patience_ns = PATIENCE_S * NS_PER_S,
							       .done = on_read };
		publisher_submit(publisher, &reading->request);
	}
}

static void start_work(struct engine_work *engine_work)
{
	struct dnsrecord_zone_work *work = dnsrecord_zone_work_of(engine_work);
	if (record_account_open(&work->account, engine_work->engine, ERR_TEXT(work->serial.error)) <
	    0) {
		work->serial.code = PROVIDER_INVALID;
		engine_complete(engine_work);
		return;
	}
	dnsrecord_learn_notify_key(engine_work->engine, work->zone_key, work->zone,
				   publisher_account_tsig_key(work->account.opened));
	if (work->n_readings != 0) {
		start_readings(work);
		return;
	}
	work->serial.account = work->account.opened;
	zone_serial_submit(&work->serial);
}

static void cancel_work(struct engine_work *engine_work)
{
	struct dnsrecord_zone_work *work = dnsrecord_zone_work_of(engine_work);
	zone_serial_cancel(&work->serial);
	for (size_t i = 0; i < work->n_readings; i++)
		publisher_cancel(record_account_publisher(&work->account, engine_work->engine),
				 &work->readings[i].request);
	record_account_close(&work->account);
}

static void free_work(struct engine_work *engine_work)
{
	struct dnsrecord_zone_work *work = dnsrecord_zone_work_of(engine_work);
	for (size_t i = 0; i < work->n_readings; i++) {
		publisher_request_release(&work->readings[i].request);
		free(work->readings[i].edit);
		free(work->readings[i].key);
	}
	free(work->readings);
	record_account_done(&work->account);
	free(work->zone);
	free(work->zone_key);
	free(work);
}

struct dnsrecord_zone_work *dnsrecord_zone_work_new(const struct publisher_account_conf *account,
						    struct lease *lease, const char *zone_key,
						    const char *zone, uint64_t since_ns)
{
	static const struct engine_work_ops ops = { start_work, cancel_work, free_work };
	struct dnsrecord_zone_work *work = xcalloc(1, sizeof(*work));
	*work = (struct dnsrecord_zone_work){
		.work = { .ops = &ops, .timeout_ns = TIMEOUT_S * NS_PER_S },
		.zone_key = xstrdup(zone_key),
		.zone = xstrdup(zone),
		.serial = { .since_ns = since_ns, .done = on_serial },
	};
	work->serial.zone = work->zone;
	record_account_init(&work->account, account, lease);
	return work;
}

void dnsrecord_zone_work_add(struct dnsrecord_zone_work *work, const char *key,
			     const struct provider_rrset *set)
{
	struct provider_edit edit = { .set = *set, .guard = PROVIDER_GUARD_NONE };
	size_t n = work->n_readings;
	if ((n & (n - 1)) == 0) /* powers of two */
		work->readings =
			xreallocarray(work->readings, n == 0 ? 1 : 2 * n, sizeof(*work->readings));
	work->readings[work->n_readings++] = (struct dnsrecord_zone_reading){
		.edit = provider_edits_dup(&edit, 1),
		.key = xstrdup(key),
	};
}
