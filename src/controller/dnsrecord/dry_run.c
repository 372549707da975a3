/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A dry run: the difference between what the spec asks for and what the provider has. */
#include "controller/dnsrecord/dry_run.h"

#include <string.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "controller/dnsrecord/secrets/credentials.h"
#include "controller/dnsrecord/plan/diff.h"
#include "controller/engine.h"
#include "controller/shared/record_work.h"

enum {
	AGAIN_S = 600,	 /* the provider may have changed */
	UNREAD_S = 60,	 /* after it could not be read */
	PATIENCE_S = 30, /* with the provider */
};

struct steps {
	struct dnsrecord_step v[DNSRECORD_STEPS_AHEAD];
	size_t n;
};

static void find_steps(const struct dnsrecord_pass *pass, const struct dnsrecord_dry_run *run,
		       struct steps *ret)
{
	struct dnsrecord_rules rules = {
		.is_drop_in = pass->settings.is_drop_in,
		.is_restore = strcmp(pass->choice.operation, "Restore") == 0,
		.may_be_gone = run->may_be_gone,
		.searches_zone = run->searches_zone,
	};
	ret->n = dnsrecord_steps_ahead(&pass->record, pass->choice.task == DNSRECORD_WITHDRAW,
				       &rules, ret->v);
}

static void describe_set(struct strbuf *out, const struct provider_rrset *set)
{
	strbuf_addf(out, "%s %u %u\n", set->name, (unsigned)set->type, (unsigned)set->ttl_s);
	for (size_t i = 0; i < set->n_values; i++)
		strbuf_addf(out, "%s\n", set->values[i]);
}

/* What the result depends on, besides the provider and the Secret. */
static uint64_t hash_steps(const struct dnsrecord_pass *pass, const struct steps *steps)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	const struct api_dnsrecord *spec = &pass->record.spec;
	strbuf_addf(&text, "dry run %s %s %s/%s\n", api_uid(pass->object), spec->region,
		    spec->secret_namespace, spec->secret_name);
	for (size_t i = 0; i < steps->n; i++) {
		const struct dnsrecord_step *step = &steps->v[i];
		strbuf_addf(&text, "%s %d\n", step->zone != NULL ? step->zone : "",
			    (int)step->kind);
		for (size_t k = 0; k < step->n_edits; k++)
			describe_set(&text, &step->edits[k].set);
	}
	return hash_bytes(hash_process_key(), text.s, text.n);
}

/* Of one reading; never that of work which writes. */
static uint64_t hash_reading(const struct dnsrecord_dry_run *run)
{
	const uint64_t parts[] = { run->input, run->step, run->may_be_gone, run->searches_zone };
	return hash_bytes(hash_process_key(), (const char *)parts, sizeof(parts));
}

/* ---- the end ---- */

static void restart_run(struct dnsrecord_dry_run *run, uint64_t input)
{
	json_decref(run->report);
	*run = (struct dnsrecord_dry_run){ .input = input,
					   .report = json_pack("{s:[]}", "changes") };
}

/* Takes over the report. */
static int report_result(struct dnsrecord_pass *pass, json_t *report, const char *result)
{
	json_object_set_new(report, "result", json_string(result));
	return dnsrecord_pass_provider_status(pass, "dryRun", report);
}

static const char *name_result(const json_t *report)
{
	if (json_object_get(report, "problem") != NULL)
		return "Refused";
	return json_array_size(json_object_get(report, "changes")) != 0 ? "Changes" : "NoChanges";
}

static void set_due(struct dnsrecord_pass *pass, struct dnsrecord_dry_run *run, unsigned seconds)
{
	uint64_t pause_ns = dnsrecord_jitter(pass->ctx, seconds * NS_PER_S);
	run->due_ns = clock_mono_ns() + pause_ns;
	pass->ctx->again_ns = pause_ns;
}

static int end_run(struct dnsrecord_pass *pass, struct dnsrecord_dry_run *run)
{
	json_t *report = TAKE_PTR(run->report);
	set_due(pass, run, AGAIN_S);
	return report_result(pass, report, name_result(report));
}

/* Nothing is said of changes: whatever was read so far is not the whole. */
static int end_unread(struct dnsrecord_pass *pass, struct dnsrecord_dry_run *run, const char *why)
{
	json_decref(TAKE_PTR(run->report));
	set_due(pass, run, UNREAD_S);
	return report_result(pass, json_pack("{s:s}", "problem", why), "Unknown");
}

/* ---- reading ---- */

static int start_reading(struct dnsrecord_pass *pass, struct dnsrecord_dry_run *run,
			 const struct dnsrecord_step *step)
{
	CLEANUP(dnsrecord_credentials_done) struct dnsrecord_credentials credentials = { 0 };
	char why[512];
	int r = dnsrecord_credentials_read(pass->ctx->conn, pass->settings.any_namespace,
					   pass->object, &credentials, ERR_TEXT(why));
	if (r == ERR_CONFIG)
		return end_unread(pass, run, why);
	if (r < 0) {
		err_text_set(ERR_TEXT(pass->ctx->err), "%s", why);
		return r;
	}
	struct record_work *work = record_work_new(&(struct record_work_conf){
		.account = { .provider = pass->provider,
			     .credentials = credentials.v,
			     .n_credentials = credentials.n,
			     .region = pass->record.spec.region },
		.zone = step->zone,
		.edits = step->edits,
		.n_edits = step->n_edits,
		.priority = PUBLISHER_PERIODIC,
		.maybe_applied = step->maybe_applied,
		.checks_zone = step->checks_zone,
		.only_reads = true,
		.patience_ns = PATIENCE_S * NS_PER_S,
		.lease = pass->ctx->lease,
	});
	engine_submit(pass->ctx->engine, pass->key, hash_reading(run), &work->work);
	return 0;
}

/* 1: go on with the next reading; else the pass ends. */
static int take_reading(struct dnsrecord_pass *pass, struct dnsrecord_dry_run *run,
			const struct dnsrecord_step *step, const struct record_work *work)
{
	const struct publisher_request *request = &work->request;
	const char *error =
		request->error != NULL ? request->error : "the provider did not answer in time";
	if (work->work.timed_out)
		return end_unread(pass, run, error);
	if (request->code == PROVIDER_NO_LEASE)
		return 0; /* the next leader goes on */
	if (request->code == PROVIDER_CONFLICT && step->has_second_try && !run->may_be_gone) {
		run->may_be_gone = true;
		return 1;
	}
	if (request->code == PROVIDER_OTHER_ZONE &&
	    dnsrecord_can_search_zone(&pass->record, step, request->code)) {
		run->searches_zone = true;
		return 1;
	}
	if (!dnsrecord_diff_reading(run->report, step, request))
		return end_unread(pass, run, error);
	run->may_be_gone = false;
	run->searches_zone = false;
	run->step++;
	return 1;
}

static int read_steps(struct dnsrecord_pass *pass, struct dnsrecord_dry_run *run)
{
	for (;;) {
		struct engine_work *work = NULL;
		struct steps steps;
		find_steps(pass, run, &steps);
		if (run->step >= steps.n)
			return end_run(pass, run);
		const struct dnsrecord_step *step = &steps.v[run->step];
		enum engine_state at =
			engine_take(pass->ctx->engine, pass->key, hash_reading(run), &work);
		if (at == ENGINE_UNDER_WAY)
			return 0;
		if (at == ENGINE_NOTHING)
			return start_reading(pass, run, step);
		int r = take_reading(pass, run, step, record_work_of(work));
		engine_work_free(work);
		if (r <= 0)
			return r;
	}
}

int dnsrecord_dry_run(struct dnsrecord_pass *pass)
{
	bool withdraws = pass->choice.task == DNSRECORD_WITHDRAW;
	struct steps steps;
	dnsrecord_wave_drop(dnsrecord_wave_of(pass->ctx), pass->key);
	if (pass->record.problem != NULL && !withdraws)
		return report_result(
			pass, json_pack("{s:[], s:s}", "changes", "problem", pass->record.problem),
			"Refused");
	if (pass->provider->caps.keeps_nothing) {
		json_t *report =
			json_pack("{s:o}", "changes", dnsrecord_diff(&pass->record, withdraws));
		return report_result(pass, report, name_result(report));
	}
	struct dnsrecord_dry_run *run = dnsrecord_dry_run_of(pass->ctx, pass->key);
	uint64_t now = clock_mono_ns();
	find_steps(pass, &(struct dnsrecord_dry_run){ 0 }, &steps);
	uint64_t input = hash_steps(pass, &steps);
	if (run->input == input && run->due_ns > now) {
		pass->ctx->again_ns = run->due_ns - now;
		return 0;
	}
	if (run->input != input || run->due_ns != 0 || run->report == NULL)
		restart_run(run, input);
	return read_steps(pass, run);
}
