/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The socket for NOTIFYs as a part of the engine, and the work that opens it. */
#include "controller/dnsrecord/zone_notify.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/dnsrecord/counters.h"
#include "controller/dnsrecord/notify/listener.h"
#include "controller/dnsrecord/state.h"
#include "controller/dnsrecord/zone_table.h"
#include "controller/engine.h"

enum { NOTIFY_INPUT = 1 };
#define RETRY_NS (30 * NS_PER_S)

/* ---- the engine's part ---- */

struct notify_part {
	struct engine_part part;
	struct dnsrecord_notify_listener *listener;
	struct dnsrecord_zone_table *zones;
	controller_emit emit;
	void *emit_arg;
};

static bool has_zone(void *ctx, const char *zone)
{
	const struct notify_part *own = ctx;
	return dnsrecord_zone_table_has_name(own->zones, zone);
}

/* The key of a zone, which names the Secret, identifies its account. */
static bool has_account(void *ctx, const char *account)
{
	const struct notify_part *own = ctx;
	return dnsrecord_zone_table_get(own->zones, account) != NULL;
}

static void on_changed(void *ctx, const char *zone)
{
	const struct notify_part *own = ctx;
	dnsrecord_zone_table_notify(own->zones, zone, clock_mono_ns(), own->emit, own->emit_arg);
}

static void count_result(enum dnsrecord_notify_result result)
{
	static const char *const labels[] = {
		[DNSRECORD_NOTIFY_ACCEPTED] = "accepted",
		[DNSRECORD_NOTIFY_UNKNOWN_ZONE] = "unknown_zone",
		[DNSRECORD_NOTIFY_BAD_SIGNATURE] = "bad_signature",
		[DNSRECORD_NOTIFY_REFUSED] = "refused",
	};
	dnsrecord_count_notify(labels[result]);
}

static void free_part(struct engine_part *part)
{
	struct notify_part *own = CONTAINER_OF(part, struct notify_part, part);
	dnsrecord_notify_listener_close(own->listener);
	free(own);
}

static const struct engine_part_kind part_kind = { free_part };

void dnsrecord_learn_notify_key(struct engine *engine, const char *zone_key, const char *zone_id,
				const struct dns_tsig_key *key)
{
	struct engine_part *part = engine_find_part(engine, &part_kind);
	if (part == NULL)
		return;
	CLEANUP(freep) char *name = dnsrecord_zone_name(zone_id);
	dnsrecord_notify_listener_learn(CONTAINER_OF(part, struct notify_part, part)->listener,
					name, zone_key, key);
}

/* ---- opening it ---- */

struct opening {
	struct engine_work work;
	struct notify_part *part; /* until it is the engine's */
	union net_addr addr;
	char error[256];
};

static void start_opening(struct engine_work *work)
{
	struct opening *opening = CONTAINER_OF(work, struct opening, work);
	struct notify_part *part = opening->part;
	struct dnsrecord_notify_listener_conf conf = { .loop = engine_loop(work->engine),
						       .addr = opening->addr,
						       .has_zone = has_zone,
						       .has_account = has_account,
						       .changed = on_changed,
						       .count = count_result,
						       .ctx = part };
	if (engine_find_part(work->engine, &part_kind) == NULL &&
	    dnsrecord_notify_listener_open(&conf, &part->listener, ERR_TEXT(opening->error)) >= 0) {
		char text[NET_ADDR_TEXT_MAX];
		net_addr_str(&opening->addr, text);
		log_info(DNSRECORD_LOG_AREA, "listening for NOTIFY on %s", text);
		engine_add_part(work->engine, &part_kind, &TAKE_PTR(opening->part)->part);
	}
	engine_complete(work);
}

static void cancel_opening(struct engine_work *work UNUSED)
{
}

static void free_opening(struct engine_work *work)
{
	struct opening *opening = CONTAINER_OF(work, struct opening, work);
	free(opening->part);
	free(opening);
}

static struct opening *make_opening(const struct controller_ctx *ctx, const union net_addr *addr)
{
	static const struct engine_work_ops ops = { start_opening, cancel_opening, free_opening };
	struct opening *opening = xcalloc(1, sizeof(*opening));
	struct notify_part *part = xcalloc(1, sizeof(*part));
	*part = (struct notify_part){ .zones = &((struct dnsrecord_state *)ctx->state)->zones,
				      .emit = ctx->emit,
				      .emit_arg = ctx->emit_arg };
	*opening = (struct opening){ .work = { .ops = &ops }, .part = part, .addr = *addr };
	return opening;
}

/* ---- the pass ---- */

bool dnsrecord_is_notify_key(const char *key)
{
	return strcmp(key, DNSRECORD_NOTIFY_KEY) == 0;
}

int dnsrecord_listen_for_notify(struct controller_ctx *ctx, const char *key)
{
	struct dnsrecord_settings settings = dnsrecord_settings_of(ctx);
	struct dnsrecord_state *state = ctx->state;
	struct engine_work *work = NULL;
	enum engine_state at = engine_take(ctx->engine, key, NOTIFY_INPUT, &work);
	if (settings.notify == NULL || state->is_listening || at == ENGINE_UNDER_WAY) {
		engine_work_free(work);
		return 0;
	}
	if (at == ENGINE_NOTHING) {
		engine_submit(ctx->engine, key, NOTIFY_INPUT,
			      &make_opening(ctx, settings.notify)->work);
		return 0;
	}
	const struct opening *opening = CONTAINER_OF(work, struct opening, work);
	state->is_listening = opening->error[0] == '\0';
	if (!state->is_listening) {
		log_error(DNSRECORD_LOG_AREA,
			  "%s; until that works, zones are checked at the interval only",
			  opening->error);
		ctx->again_ns = RETRY_NS;
	}
	engine_work_free(work);
	return 0;
}
