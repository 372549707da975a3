/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A step is handed to the publisher and the pass ends; when it has completed, the next pass takes the
 * result, writes it down and goes on. The order of writes, each of which may be the last of a process:
 *   1. status: Processing, with the record set that will be sent, and the Secret that will be held
 *   2. finalizer of the Secret (secret_hold.h)
 *      finalizer; the request `reconcile` is removed
 *   3. the call to the provider
 *   4. status: what the provider has; Succeeded or Error
 *   5. the request `restore` is removed; after a deletion the finalizers are, that of the Secret first */
#include "controller/dnsrecord/steps.h"

#include <string.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "controller/dnsrecord/claims.h"
#include "controller/dnsrecord/counters.h"
#include "controller/dnsrecord/secrets/credentials.h"
#include "controller/dnsrecord/plan/names.h"
#include "controller/dnsrecord/secret_hold.h"
#include "controller/dnsrecord/terminating.h"
#include "controller/engine.h"
#include "controller/shared/record_work.h"
#include "dns/types.h"

enum {
	STEPS_MAX = 8,	    /* of one pass */
	AGAIN_S = 30,	    /* after the first failure (DR-18) */
	AGAIN_MAX_S = 600,  /* after many */
	SECRET_AGAIN_S = 5, /* after the first failure to read the Secret */
	SECRET_AGAIN_MAX_S = 60,
	PATIENCE_S = 20,      /* with a busy provider, until the status says so */
	FORCED_PATIENCE_S = 5 /* of a deletion that must end */
};

#define GONE_TEXT  "the provider does not have the record set"
#define ADOPT_HINT "; 'fairlead adopt', or the annotation " DNSRECORD_ADOPT "=true, takes it over"
#define ORPHAN_HINT                                                     \
	"; to end the deletion without the provider, set the object's " \
	"annotation " DNSRECORD_ORPHAN "=true"

static bool withdraws(const struct dnsrecord_pass *pass)
{
	return pass->choice.task == DNSRECORD_WITHDRAW;
}

static bool only_reads(const struct dnsrecord_pass *pass)
{
	return pass->memory.is_unsent && !withdraws(pass);
}

static bool is_put(const struct dnsrecord_step *step)
{
	return step->kind == DNSRECORD_PUT_WANTED || step->kind == DNSRECORD_PUT_ATTEMPT;
}

void dnsrecord_find_step(const struct dnsrecord_pass *pass, struct dnsrecord_step *ret)
{
	struct dnsrecord_rules rules = {
		.is_drop_in = pass->settings.is_drop_in,
		.is_restore = strcmp(pass->choice.operation, "Restore") == 0,
		.may_be_gone = pass->memory.may_be_gone,
		.searches_zone = pass->memory.searches_zone,
	};
	dnsrecord_next_step(&pass->record, withdraws(pass), &rules, ret);
}

/* ---- failures ---- */

static uint64_t failure_pause_ns(const struct dnsrecord_memory *memory)
{
	uint64_t seconds = AGAIN_S;
	for (unsigned i = 1; i < memory->failures && seconds < AGAIN_MAX_S; i++)
		seconds *= 2;
	return MIN(seconds, (uint64_t)AGAIN_MAX_S) * NS_PER_S;
}

/* Somebody may be about to make the Secret. It costs no call to the provider. */
static void retry_soon(struct dnsrecord_pass *pass)
{
	uint64_t seconds = SECRET_AGAIN_S;
	for (unsigned i = 1; i < pass->memory.failures && seconds < SECRET_AGAIN_MAX_S; i++)
		seconds *= 2;
	pass->ctx->again_ns = MIN(seconds, (uint64_t)SECRET_AGAIN_MAX_S) * NS_PER_S;
	pass->memory.due_ns = clock_mono_ns() + pass->ctx->again_ns;
	dnsrecord_remember(pass->ctx, pass->key, &pass->memory);
}

static int fail_with(struct dnsrecord_pass *pass, const struct dnsrecord_report *report)
{
	struct dnsrecord_report hinted = *report;
	CLEANUP(freep)
	char *text = xasprintf("%s%s", report->description, withdraws(pass) ? ORPHAN_HINT : "");
	bool is_known = dnsrecord_report_is_known(pass->object, text);
	hinted.description = text;
	pass->memory.failures++;
	pass->memory.due_ns = clock_mono_ns() + failure_pause_ns(&pass->memory);
	pass->memory.may_be_gone = false;
	pass->memory.searches_zone = false;
	pass->memory.is_unsent = false;
	pass->ctx->again_ns = failure_pause_ns(&pass->memory);
	dnsrecord_remember(pass->ctx, pass->key, &pass->memory);
	dnsrecord_count_operation(pass->choice.operation, "failed");
	int r = dnsrecord_pass_report(pass, &hinted);
	if (r == 0 && !is_known)
		dnsrecord_pass_event(pass, true, "Failed", text);
	return r;
}

static struct dnsrecord_report error_report(const struct dnsrecord_pass *pass, const char *code,
					    const char *text)
{
	struct dnsrecord_known known = dnsrecord_begin_known(&pass->record, true);
	return (struct dnsrecord_report){ .operation = pass->choice.operation,
					  .state = DNSRECORD_ERROR,
					  .description = text,
					  .code = code,
					  .known = known };
}

int dnsrecord_fail(struct dnsrecord_pass *pass, enum dnsrecord_ownership ownership,
		   const char *text)
{
	struct dnsrecord_report report = error_report(pass, "ERR_CONFIGURATION_PROBLEM", text);
	report.ownership = ownership;
	int r = fail_with(pass, &report);
	return r < 0 ? r
		     : dnsrecord_pass_mark(pass, &(struct dnsrecord_marks){ .clear = "reconcile" });
}

/* ---- the end ---- */

static int finish_withdrawal(struct dnsrecord_pass *pass, const char *text)
{
	struct dnsrecord_report report = { .operation = "Delete",
					   .state = DNSRECORD_SUCCEEDED,
					   .description = text };
	report.known.zone =
		pass->record.spec.status_zone[0] != '\0' ? pass->record.spec.status_zone : NULL;
	dnsrecord_count_operation("Delete", "succeeded");
	int r = dnsrecord_pass_report(pass, &report);
	if (r == 0)
		r = dnsrecord_secret_release(pass);
	if (r < 0)
		return r;
	return dnsrecord_pass_mark(pass, &(struct dnsrecord_marks){ .remove_finalizer = true });
}

static void report_left(const struct dnsrecord_pass *pass, const struct dnsrecord_set *left,
			const char *why)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	char type[DNS_MNEMONIC_MAX];
	strbuf_addf(&text, "the %s record set '%s'", dns_type_str(left->set.type, type),
		    left->set.name);
	if (left->zone != NULL)
		strbuf_addf(&text, " in zone '%s'", left->zone);
	strbuf_addf(&text, " may still be at the provider: %s", why);
	dnsrecord_pass_event_of_deletion(pass, "OrphanLeft", text.s);
}

/* Whatever may be left at the provider is named. */
int dnsrecord_give_up(struct dnsrecord_pass *pass, const char *why)
{
	const struct dnsrecord *record = &pass->record;
	bool is_same = record->attempt != NULL && record->applied != NULL &&
		       dnsrecord_is_same_place(record->attempt, record->applied);
	if (record->applied != NULL)
		report_left(pass, record->applied, why);
	if (record->attempt != NULL && !is_same)
		report_left(pass, record->attempt, why);
	if (record->leftover != NULL)
		report_left(pass, record->leftover, why);
	return finish_withdrawal(pass, "the record set was left at the provider");
}

static int give_up_forced(struct dnsrecord_pass *pass, const char *why)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text, "the deletion is forced: %s", why);
	return dnsrecord_give_up(pass, text.s);
}

static int finish_publication(struct dnsrecord_pass *pass, const struct dnsrecord_known *known)
{
	struct dnsrecord_report report = { .operation = pass->choice.operation,
					   .state = DNSRECORD_SUCCEEDED,
					   .description = "the provider has the record set",
					   .ownership = DNSRECORD_OURS,
					   .known = *known };
	bool is_change = pass->record.applied == NULL ||
			 !dnsrecord_is_same_set(pass->record.applied, &pass->record.wanted);
	report.is_other_set = is_change || pass->memory.has_drifted;
	report.shows_published = pass->settings.by_request && pass->provider->caps.keeps_nothing;
	report.is_probed = pass->settings.probe_ns != 0 && !pass->record.skips_probe;
	if (report.is_other_set)
		dnsrecord_probe_drop(pass->ctx, pass->key);
	pass->memory = (struct dnsrecord_memory){ .least_version = pass->memory.least_version };
	dnsrecord_count_operation(pass->choice.operation, "succeeded");
	int r = dnsrecord_pass_report(pass, &report);
	if (r < 0)
		return r;
	if (is_change)
		dnsrecord_pass_event(pass, false, "Published", "the provider has the record set");
	return dnsrecord_pass_mark(pass, &(struct dnsrecord_marks){ .clear = "restore" });
}

/* ---- results ---- */

static int report_progress(struct dnsrecord_pass *pass, const struct dnsrecord_known *known,
			   int progress, const char *text)
{
	struct dnsrecord_report report = { .operation = pass->choice.operation,
					   .state = DNSRECORD_PROCESSING,
					   .progress = progress,
					   .description = text,
					   .known = *known };
	return dnsrecord_pass_report(pass, &report);
}

/* 1: go on with the next step. */
static int take_success(struct dnsrecord_pass *pass, const struct dnsrecord_step *step,
			const char *zone)
{
	struct dnsrecord_known known = dnsrecord_succeeded_known(
		&pass->record, step, zone != NULL ? zone : "", &pass->arena);
	bool is_left = known.attempt != NULL || known.applied != NULL || known.leftover != NULL;
	pass->memory.may_be_gone = false;
	pass->memory.searches_zone = false;
	pass->memory.is_fresh = false;
	if (withdraws(pass) && !is_left)
		return finish_withdrawal(pass, GONE_TEXT);
	if (step->kind == DNSRECORD_PUT_WANTED && known.leftover == NULL)
		return finish_publication(pass, &known);
	int r = report_progress(pass, &known, 60, "the next record set follows");
	return r < 0 ? r : 1;
}

static void tell_other_zones(const struct dnsrecord_pass *pass,
			     const struct publisher_request *request)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct slice others = slice_of(request->other_zones != NULL ? request->other_zones : "");
	if (others.n == 0)
		return;
	strbuf_addf(&text, "several zones have the same name: '%s' is used, not ",
		    request->zone_id);
	for (const char *comma = ""; others.n != 0; comma = ", ") {
		struct slice zone = slice_cut(&others, ' ');
		strbuf_addf(&text, "%s'%.*s'", comma, (int)zone.n, zone.p);
	}
	strbuf_adds(&text, "; spec.zone chooses another");
	dnsrecord_pass_event(pass, true, "ZoneAmbiguous", text.s);
}

/* A set that is to be removed is not ours any more: it stays. */
static int leave_foreign(struct dnsrecord_pass *pass, const struct dnsrecord_step *step,
			 const char *error)
{
	if (step->kind != DNSRECORD_DROP_ATTEMPT)
		dnsrecord_pass_event_of_deletion(
			pass, "RecordLeft", error != NULL ? error : "the record set is not ours");
	return take_success(pass, step, step->zone);
}

/* A set that is to be removed is in a zone that is missing: nobody knows whether it comes back. */
static void report_lost_zone(const struct dnsrecord_pass *pass, const struct dnsrecord_step *step)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	const struct provider_rrset *set = &step->edits[0].set;
	char type[DNS_MNEMONIC_MAX];
	/* The attempt was for the same set as what follows, or for a zone that never existed. */
	if (step->zone == NULL ||
	    (step->kind == DNSRECORD_DROP_ATTEMPT && pass->record.applied != NULL &&
	     dnsrecord_is_same_place(pass->record.applied, pass->record.attempt)))
		return;
	strbuf_addf(&text,
		    "the zone '%s' does not exist at the provider: if it comes back with the %s "
		    "record set '%s', delete that by hand",
		    step->zone, dns_type_str(set->type, type), set->name);
	dnsrecord_pass_event_of_deletion(pass, "RecordLeft", text.s);
}

/* Passes by itself: no error, since gardenlet counts every one (DR-44a). */
static int take_passing(struct dnsrecord_pass *pass, const struct dnsrecord_step *step,
			enum provider_code code, const char *error)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	bool is_unsent = pass->memory.is_fresh && code == PROVIDER_TRANSIENT &&
			 step->kind == DNSRECORD_PUT_WANTED && pass->record.applied == NULL;
	struct dnsrecord_known known =
		dnsrecord_waiting_known(&pass->record, withdraws(pass), !is_unsent);
	if (code == PROVIDER_NO_LEASE)
		return 0; /* the next leader goes on */
	if (pass->is_forced)
		return give_up_forced(pass, error);
	if (code == PROVIDER_UNSURE)
		pass->memory.is_fresh = false;
	pass->memory.is_unsent = is_unsent;
	strbuf_addf(&text, "waiting for the provider: %s", error);
	dnsrecord_count_operation(pass->choice.operation, "waiting");
	int r = dnsrecord_pass_report(
		pass, &(struct dnsrecord_report){ .operation = pass->choice.operation,
						  .state = DNSRECORD_PROCESSING,
						  .progress = 50,
						  .is_waiting = true,
						  .description = text.s,
						  .known = known });
	return r < 0 ? r : 1;
}

static bool is_doubtful(const struct dnsrecord_pass *pass, enum provider_code code)
{
	return !pass->memory.is_fresh &&
	       (code == PROVIDER_UNAUTHENTICATED || code == PROVIDER_UNAUTHORIZED ||
		code == PROVIDER_NO_ZONE);
}

static int take_refusal(struct dnsrecord_pass *pass, const struct dnsrecord_step *step,
			enum provider_code code, const char *error)
{
	bool can_adopt = is_put(step) && strstr(error, PROVIDER_NOT_OURS) != NULL;
	CLEANUP(freep) char *text = xasprintf("%s%s", error, can_adopt ? ADOPT_HINT : "");
	struct dnsrecord_report report = error_report(pass, provider_code_gardener(code), text);
	if (pass->is_forced)
		return give_up_forced(pass, error);
	/* A server that fails without a reason may apply it later. A spec that was changed since goes on. */
	bool keeps_attempt = is_doubtful(pass, code) ||
			     (code == PROVIDER_FAILED && step->kind == DNSRECORD_PUT_WANTED);
	if (!keeps_attempt)
		report.known = dnsrecord_refused_known(&pass->record, step);
	if (step->kind == DNSRECORD_PUT_ATTEMPT && !is_doubtful(pass, code)) {
		int r = report_progress(pass, &report.known, 30, "the next record set follows");
		return r < 0 ? r : 1;
	}
	report.ownership = code == PROVIDER_CONFLICT ? DNSRECORD_FOREIGN : DNSRECORD_SAME_OWNER;
	return fail_with(pass, &report);
}

/* Nothing was written: whatever the provider answers, it can be reached. */
static int take_reading(struct dnsrecord_pass *pass, const struct dnsrecord_step *step,
			enum provider_code code, const char *error)
{
	if (code == PROVIDER_NO_LEASE)
		return 0; /* the next leader goes on */
	if (code != PROVIDER_OK && provider_code_gardener(code)[0] == '\0')
		return take_passing(pass, step, PROVIDER_TRANSIENT, error);
	pass->memory.is_unsent = false;
	return 1;
}

/* 1: go on; else the pass ends with 0 or a negative code. */
static int take_result(struct dnsrecord_pass *pass, const struct dnsrecord_step *step,
		       const struct record_work *work)
{
	enum provider_code code = work->work.timed_out ? PROVIDER_UNSURE : work->request.code;
	const char *error = work->request.error != NULL ? work->request.error
							: "the provider did not answer in time";
	if (only_reads(pass))
		return take_reading(pass, step, code, error);
	tell_other_zones(pass, &work->request);
	if (work->request.is_zone_missing)
		report_lost_zone(pass, step);
	if (code == PROVIDER_OK)
		return take_success(pass, step,
				    work->request.zone_id != NULL ? work->request.zone_id
								  : step->zone);
	if (!is_put(step) && code == PROVIDER_CONFLICT)
		return leave_foreign(pass, step, error);
	if (code == PROVIDER_CONFLICT && step->has_second_try && !pass->memory.may_be_gone) {
		pass->memory.may_be_gone = true;
		return 1;
	}
	if (dnsrecord_can_search_zone(&pass->record, step, code)) {
		pass->memory.searches_zone = true;
		return 1;
	}
	if (provider_code_gardener(code)[0] == '\0')
		return take_passing(pass, step, code, error);
	return take_refusal(pass, step, code, error);
}

/* ---- the beginning ---- */

/* What the work depends on. The Secret does not count: it is read when work begins. */
static uint64_t hash_step(const struct dnsrecord_pass *pass, const struct dnsrecord_step *step)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text, "%s %s %s/%s %s %d %d\n", api_uid(pass->object),
		    pass->record.spec.region, pass->record.spec.secret_namespace,
		    pass->record.spec.secret_name, step->zone != NULL ? step->zone : "",
		    (int)step->kind, (int)only_reads(pass));
	for (size_t i = 0; i < step->n_edits; i++) {
		const struct provider_edit *edit = &step->edits[i];
		strbuf_addf(&text, "%s %u %u %d\n", edit->set.name, (unsigned)edit->set.type,
			    (unsigned)edit->set.ttl_s, (int)edit->guard);
		for (size_t k = 0; k < edit->set.n_values; k++)
			strbuf_addf(&text, "%s\n", edit->set.values[k]);
	}
	return hash_bytes(hash_process_key(), text.s, text.n);
}

static bool is_begun(const struct dnsrecord_pass *pass)
{
	bool needs_attempt = !withdraws(pass) && pass->record.attempt == NULL;
	return strcmp(pass->record.spec.operation_state, "Processing") == 0 &&
	       strcmp(pass->record.spec.operation_type, pass->choice.operation) == 0 &&
	       !needs_attempt;
}

/* Releases the previous Secret if the spec names another one. */
static int release_other_secret(struct dnsrecord_pass *pass)
{
	return strcmp(pass->record.held_secret, dnsrecord_secret_to_hold(pass)) != 0
		       ? dnsrecord_secret_release(pass)
		       : 0;
}

static int report_begin(struct dnsrecord_pass *pass)
{
	struct dnsrecord_report report = { .operation = pass->choice.operation,
					   .state = DNSRECORD_PROCESSING,
					   .progress = 1,
					   .secret = dnsrecord_secret_to_hold(pass) };
	report.known = dnsrecord_begin_known(&pass->record, withdraws(pass));
	report.description = withdraws(pass) ? "the record set is being deleted"
					     : "the record set is being published";
	if (is_begun(pass))
		return dnsrecord_pass_note_secret(pass, report.secret);
	pass->memory.is_fresh = pass->record.attempt == NULL;
	return dnsrecord_pass_report(pass, &report);
}

static int begin_operation(struct dnsrecord_pass *pass,
			   const struct dnsrecord_credentials *credentials)
{
	struct dnsrecord_marks marks = { .add_finalizer = !withdraws(pass), .clear = "reconcile" };
	int r = release_other_secret(pass);
	if (r == 0)
		r = report_begin(pass);
	if (r == 0)
		r = dnsrecord_secret_hold(pass, credentials);
	return r < 0 ? r : dnsrecord_pass_mark(pass, &marks);
}

static void submit_step(struct dnsrecord_pass *pass, const struct dnsrecord_step *step,
			const struct dnsrecord_credentials *credentials)
{
	bool is_routine = is_put(step) && pass->record.applied != NULL &&
			  dnsrecord_is_same_set(pass->record.applied, &pass->record.wanted);
	struct record_work *work = record_work_new(&(struct record_work_conf){
		.account = { .provider = pass->provider,
			     .credentials = credentials->v,
			     .n_credentials = credentials->n,
			     .region = pass->record.spec.region },
		.zone = step->zone,
		.edits = step->edits,
		.n_edits = step->n_edits,
		.priority = is_routine ? PUBLISHER_PERIODIC : PUBLISHER_NOW,
		.maybe_applied = step->maybe_applied,
		.checks_zone = step->checks_zone,
		.only_reads = only_reads(pass),
		.patience_ns = (pass->is_forced ? FORCED_PATIENCE_S : PATIENCE_S) * NS_PER_S,
		.lease = pass->ctx->lease,
	});
	if (pass->is_forced)
		work->work.timeout_ns = FORCED_PATIENCE_S * NS_PER_S;
	dnsrecord_remember(pass->ctx, pass->key, &pass->memory);
	dnsrecord_wave_submit(dnsrecord_wave_of(pass->ctx), pass->ctx->engine, pass->key,
			      hash_step(pass, step), &work->work, &pass->ctx->again_ns);
}

static int fail_without_secret(struct dnsrecord_pass *pass, const char *why)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	json_t *namespace = withdraws(pass) ? dnsrecord_terminating_namespace(
						      pass->ctx->conn, api_namespace(pass->object))
					    : NULL;
	if (namespace != NULL) {
		json_decref(namespace);
		strbuf_addf(&text, "its namespace is being deleted: %s", why);
		return dnsrecord_give_up(pass, text.s);
	}
	int r = dnsrecord_fail(pass, DNSRECORD_SAME_OWNER, why);
	retry_soon(pass);
	return r;
}

/* 1: read; else the pass ends with 0 or a negative code. */
static int read_credentials(struct dnsrecord_pass *pass, struct dnsrecord_credentials *credentials)
{
	char why[512];
	int r = dnsrecord_secret_read(pass, credentials, ERR_TEXT(why));
	if (r >= 0)
		return r;
	if (pass->is_forced)
		return give_up_forced(pass, why);
	if (r == ERR_CONFIG)
		return fail_without_secret(pass, why);
	err_text_set(ERR_TEXT(pass->ctx->err), "%s", why);
	return r;
}

/* What keeps it from being sent, before anything is written. 1: nothing. */
static int check_step(struct dnsrecord_pass *pass, const struct dnsrecord_step *step,
		      struct dnsrecord_credentials *credentials)
{
	CLEANUP(strbuf_done) struct strbuf claim = STRBUF_INIT;
	int r = read_credentials(pass, credentials);
	if (r != 1 || !is_put(step) || !dnsrecord_is_claimed(pass, credentials, &claim))
		return r;
	r = dnsrecord_fail(pass, DNSRECORD_CLAIMED, claim.s);
	/* Each change of the other object may be its end, and starts a pass. */
	pass->memory.due_ns = 0;
	dnsrecord_remember(pass->ctx, pass->key, &pass->memory);
	return r;
}

static int start_step(struct dnsrecord_pass *pass, struct dnsrecord_step *step)
{
	CLEANUP(dnsrecord_credentials_done) struct dnsrecord_credentials credentials = { 0 };
	bool maybe_applied = step->maybe_applied;
	int r = check_step(pass, step, &credentials);
	if (r != 1) {
		/* Nothing of it is at a provider. */
		if (!api_has_finalizer(pass->object, DNSRECORD_FINALIZER))
			dnsrecord_secret_drop(pass->ctx, pass->key);
		return r;
	}
	r = only_reads(pass) ? 0 : begin_operation(pass, &credentials);
	if (r < 0)
		return r;
	dnsrecord_find_step(pass, step); /* the object is another one by now */
	step->maybe_applied = maybe_applied;
	submit_step(pass, step, &credentials);
	return 0;
}

int dnsrecord_run_steps(struct dnsrecord_pass *pass)
{
	for (int i = 0; i < STEPS_MAX; i++) {
		struct engine_work *work = NULL;
		struct dnsrecord_step step;
		dnsrecord_find_step(pass, &step);
		if (step.kind == DNSRECORD_NO_STEP)
			return finish_withdrawal(pass, GONE_TEXT);
		uint64_t input = hash_step(pass, &step);
		if (dnsrecord_wave_has(dnsrecord_wave_of(pass->ctx), pass->key, input,
				       &pass->ctx->again_ns))
			return 0;
		enum engine_state at = engine_take(pass->ctx->engine, pass->key, input, &work);
		if (at == ENGINE_UNDER_WAY)
			return 0;
		if (at == ENGINE_NOTHING)
			return start_step(pass, &step);
		int r = take_result(pass, &step, record_work_of(work));
		engine_work_free(work);
		if (r <= 0)
			return r;
	}
	pass->ctx->again_ns = NS_PER_S;
	return 0;
}
