/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides what a DNSRecord needs, and does it. */
#include "controller/dnsrecord/reconcile.h"

#include <string.h>

#include "api/meta.h"
#include "api/time.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "controller/dnsrecord/dry_run.h"
#include "controller/dnsrecord/pass.h"
#include "controller/dnsrecord/plan/names.h"
#include "controller/dnsrecord/plan/report.h"
#include "controller/dnsrecord/probe.h"
#include "controller/dnsrecord/rivals.h"
#include "controller/dnsrecord/secret_hold.h"
#include "controller/dnsrecord/shoot.h"
#include "controller/dnsrecord/steps.h"
#include "controller/dnsrecord/watches.h"
#include "controller/dnsrecord/zone_check.h"
#include "controller/dnsrecord/zone_notify.h"
#include "controller/engine.h"
#include "kube/decode/packed.h"
#include "provider/provider.h"

#define UNKNOWN_SHOOT_NS (30 * NS_PER_S)
#define UNSHOWN_NS	 (10 * NS_PER_S) /* for a watch to show what was written */
#define UNCLAIMED_NS	 (3 * NS_PER_S)	 /* for another controller to report about an object */

static void drop_work(const struct dnsrecord_pass *pass)
{
	dnsrecord_wave_drop(dnsrecord_wave_of(pass->ctx), pass->key);
	engine_drop(pass->ctx->engine, pass->key);
}

/* Another control plane has the record set from now on: it stays (DR-50). */
static int hand_over(struct dnsrecord_pass *pass)
{
	struct dnsrecord_known known = dnsrecord_begin_known(&pass->record, true);
	struct dnsrecord_report report = { .operation = "Migrate",
					   .state = DNSRECORD_SUCCEEDED,
					   .description = "the record set stays at the provider",
					   .known = known,
					   .secret = "" };
	drop_work(pass);
	int r = dnsrecord_secret_release(pass);
	if (r == 0)
		r = dnsrecord_pass_report(pass, &report);
	if (r < 0)
		return r;
	return dnsrecord_pass_mark(pass, &(struct dnsrecord_marks){ .remove_all_finalizers = true,
								    .clear = "migrate" });
}

/* A failure is not repeated before its time, unless somebody asks. */
static bool must_wait(struct dnsrecord_pass *pass)
{
	uint64_t now = clock_mono_ns();
	bool has_failed = strcmp(pass->record.spec.operation_state, "Error") == 0;
	if (pass->choice.is_new || !has_failed || pass->memory.due_ns <= now)
		return false;
	pass->ctx->again_ns = pass->memory.due_ns - now;
	return true;
}

static int publish(struct dnsrecord_pass *pass)
{
	if (pass->record.is_dry_run || pass->settings.is_dry_run)
		return dnsrecord_dry_run(pass);
	dnsrecord_dry_run_drop(pass->ctx, pass->key);
	if (must_wait(pass))
		return 0;
	if (pass->record.problem == NULL)
		return dnsrecord_run_steps(pass);
	int r = dnsrecord_fail(pass, DNSRECORD_SAME_OWNER, pass->record.problem);
	pass->ctx->again_ns = 0; /* only another spec helps */
	return r;
}

/* The object is being deleted, and stays: its status says why. */
static int keep_by_dry_run(struct dnsrecord_pass *pass)
{
	const char *text = pass->settings.is_dry_run
				   ? "the dry run (--dnsrecord-dry-run) keeps the record set and "
				     "this object"
				   : "the dry run keeps the record set and this object; remove the "
				     "annotation " DNSRECORD_DRY_RUN " to delete both";
	struct dnsrecord_report report = { .operation = pass->choice.operation,
					   .state = DNSRECORD_PROCESSING,
					   .progress = 1,
					   .description = text,
					   .keeps_dry_run = true };
	report.known = dnsrecord_begin_known(&pass->record, true);
	int r = dnsrecord_pass_report(pass, &report);
	return r < 0 ? r : dnsrecord_dry_run(pass);
}

static int withdraw(struct dnsrecord_pass *pass)
{
	if (pass->record.is_orphan) {
		drop_work(pass);
		dnsrecord_dry_run_drop(pass->ctx, pass->key);
		return dnsrecord_give_up(pass,
					 "the annotation " DNSRECORD_ORPHAN " ends the deletion");
	}
	if (pass->record.is_dry_run || pass->settings.is_dry_run)
		return keep_by_dry_run(pass);
	dnsrecord_dry_run_drop(pass->ctx, pass->key);
	return must_wait(pass) && !pass->is_forced ? 0 : dnsrecord_run_steps(pass);
}

static int run_task(struct dnsrecord_pass *pass)
{
	switch (pass->choice.task) {
	case DNSRECORD_NOTHING:
		return 0;
	case DNSRECORD_PUBLISH:
		return publish(pass);
	case DNSRECORD_WITHDRAW:
		return withdraw(pass);
	case DNSRECORD_HAND_OVER:
		return hand_over(pass);
	case DNSRECORD_CLEAR_REQUEST:
		return dnsrecord_pass_mark(pass, &(struct dnsrecord_marks){ .clear = "reconcile" });
	}
	return 0;
}

static bool is_served(struct dnsrecord_pass *pass)
{
	const struct dnsrecord *record = &pass->record;
	pass->provider = dnsrecord_find_provider(&pass->settings, record->spec.type);
	if (pass->provider == NULL && dnsrecord_is_new_type(pass->ctx, record->spec.type))
		log_info(DNSRECORD_LOG_AREA, "DNSRecords of type '%.63s' are left alone: %s",
			 record->spec.type,
			 provider_find(record->spec.type) != NULL
				 ? "the type is not one of those to serve (--dnsrecord-types)"
				 : "there is no provider of this type");
	return pass->provider != NULL && dnsrecord_has_class(record, pass->settings.classes);
}

/* Younger than that, another controller may be about to report. */
static bool is_young(const struct dnsrecord_pass *pass)
{
	uint64_t created_ns, now_ns = clock_wall_ns();
	const char *text = api_get_string(pass->object, "metadata.creationTimestamp");
	return api_time_parse(text, &created_ns) == 0 && now_ns >= created_ns &&
	       now_ns - created_ns < UNCLAIMED_NS;
}

/* Nobody else would ever report why such an object is not published. */
static int report_unserved(struct dnsrecord_pass *pass)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	if (pass->settings.is_dry_run ||
	    !dnsrecord_has_class(&pass->record, pass->settings.classes) ||
	    !dnsrecord_is_unserved(&pass->settings, pass->object))
		return 0;
	pass->choice = dnsrecord_decide(&pass->record, pass->settings.by_request);
	dnsrecord_explain_unserved(pass->record.spec.type, &text);
	if (pass->choice.task != DNSRECORD_PUBLISH ||
	    (!pass->choice.is_new && dnsrecord_report_is_known(pass->object, text.s)))
		return 0;
	if (is_young(pass)) {
		pass->ctx->again_ns = UNCLAIMED_NS;
		return 0;
	}
	int r = dnsrecord_fail(pass, DNSRECORD_SAME_OWNER, text.s);
	pass->ctx->again_ns = 0; /* only another spec helps */
	return r;
}

/* What a settled object needs beside its record set; an earlier version may have published it without. */
static int complete_settled(struct dnsrecord_pass *pass)
{
	int r = dnsrecord_secret_hold_settled(pass);
	bool is_shown = pass->settings.by_request && pass->provider->caps.keeps_nothing &&
			dnsrecord_is_settled(pass);
	return r == 0 && is_shown ? dnsrecord_pass_show_published(pass) : r;
}

/* Nothing is asked for. A settled object is probed; one whose record set is lost is published. */
static int probe_settled(struct dnsrecord_pass *pass)
{
	int r = complete_settled(pass);
	if (r < 0)
		return r;
	bool has_drifted = dnsrecord_is_settled(pass) && dnsrecord_watch_set(pass);
	if (has_drifted) {
		pass->choice = (struct dnsrecord_choice){ DNSRECORD_PUBLISH, "Reconcile", true };
		return 0;
	}
	if (!dnsrecord_can_probe(pass)) {
		drop_work(pass);
		dnsrecord_probe_drop(pass->ctx, pass->key);
		return 0;
	}
	dnsrecord_wave_drop(dnsrecord_wave_of(pass->ctx), pass->key);
	r = dnsrecord_probe(pass, &has_drifted);
	if (has_drifted)
		pass->choice = (struct dnsrecord_choice){ DNSRECORD_PUBLISH, "Reconcile", true };
	return r;
}

/* Another controller has the object: what was begun for it ends here. */
static int leave_to_rival(struct dnsrecord_pass *pass)
{
	drop_work(pass);
	int r = dnsrecord_secret_leave(pass);
	dnsrecord_forget(pass->ctx, pass->key);
	dnsrecord_probe_drop(pass->ctx, pass->key);
	dnsrecord_unwatch_set(pass->ctx, pass->key);
	dnsrecord_dry_run_drop(pass->ctx, pass->key);
	return r;
}

static int pass_over(struct dnsrecord_pass *pass)
{
	struct dnsrecord_shoot shoot = { 0 };
	if (!is_served(pass)) {
		dnsrecord_secret_follow(pass);
		return report_unserved(pass);
	}
	if (dnsrecord_rivals_have(pass))
		return leave_to_rival(pass);
	pass->choice = dnsrecord_decide(&pass->record, pass->settings.by_request);
	if (pass->choice.task == DNSRECORD_NOTHING) {
		int r = probe_settled(pass);
		if (pass->choice.task == DNSRECORD_NOTHING)
			return r;
	}
	dnsrecord_unwatch_set(pass->ctx, pass->key);
	if (pass->settings.is_gardener)
		shoot = dnsrecord_shoot_of(pass->ctx, api_namespace(pass->object));
	if (shoot.is_unknown)
		pass->ctx->again_ns = UNKNOWN_SHOOT_NS;
	if (shoot.is_unknown || shoot.has_failed)
		return 0;
	pass->is_forced = shoot.is_forced && pass->choice.task == DNSRECORD_WITHDRAW;
	return run_task(pass);
}

/* Is the watch's copy older than what we wrote? Then it is shown soon. */
static bool is_outdated(struct dnsrecord_pass *pass, const struct kube_obj *object)
{
	uint64_t version = 0;
	if (slice_u64(slice_of(object->rv), &version) < 0 || version >= pass->memory.least_version)
		return false;
	pass->ctx->again_ns = UNSHOWN_NS;
	return true;
}

int dnsrecord_reconcile(struct controller_ctx *ctx, const char *key)
{
	if (strcmp(key, DNSRECORD_RIVALS_KEY) == 0)
		return dnsrecord_rivals_check(ctx);
	if (dnsrecord_is_zone_key(key))
		return dnsrecord_check_zone(ctx, key);
	if (dnsrecord_is_notify_key(key))
		return dnsrecord_listen_for_notify(ctx, key);
	struct slice name = slice_of(key), ns = slice_cut(&name, '/');
	struct kube_obj *object = kube_store_get(ctx->stores[DNSRECORD_RECORDS], ns, name);
	struct dnsrecord_pass pass = { .ctx = ctx, .key = key };
	int r = 0;
	dnsrecord_wave_expect(dnsrecord_wave_of(ctx), key, false);
	if (object == NULL) {
		dnsrecord_wave_drop(dnsrecord_wave_of(ctx), key);
		engine_drop(ctx->engine, key);
		dnsrecord_forget(ctx, key);
		dnsrecord_probe_drop(ctx, key);
		dnsrecord_unwatch_set(ctx, key);
		dnsrecord_dry_run_drop(ctx, key);
		return dnsrecord_secret_release_gone(ctx, key);
	}
	pass.settings = dnsrecord_settings_of(ctx);
	pass.memory = dnsrecord_recall(ctx, key);
	arena_init(&pass.arena);
	if (!is_outdated(&pass, object)) {
		dnsrecord_pass_set_object(&pass, kube_packed_unpack(object));
		r = pass_over(&pass);
	}
	dnsrecord_wave_flush(dnsrecord_wave_of(ctx), ctx->engine);
	json_decref(pass.object);
	arena_done(&pass.arena);
	kube_obj_unref(object);
	/* Gone, or changed by another: its watch says so. */
	return r == ERR_NOTFOUND || r == ERR_CONFLICT ? 0 : r;
}
