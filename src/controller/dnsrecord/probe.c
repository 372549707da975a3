/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Probes of settled objects, one after the other: a lookup, and if it disagrees, a read at the provider.
 * Both are work of the engine, under the object's key. */
#include "controller/dnsrecord/probe.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/time.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "controller/dnsrecord/counters.h"
#include "controller/dnsrecord/secrets/credentials.h"
#include "controller/dnsrecord/lookup.h"
#include "controller/dnsrecord/plan/resolvable.h"
#include "controller/dnsrecord/steps.h"
#include "controller/engine.h"
#include "controller/shared/record_work.h"

enum {
	FIRST_S = 2,	      /* after the publication; doubles as long as DNS answers otherwise */
	LONGEST_FIRST_S = 60, /* of those pauses */
	NEVER_ASKED_S = 30,   /* those are spread over this time after a start */
	CACHED_S = 300,	      /* for so long at least an old answer may be that of a cache */
	SILENT_S = 30,	      /* after a question without an answer; doubles */
	SILENT_MAX = 2,	      /* so many in a row are reported */
	PATIENCE_S = 60,      /* with the provider */
};

/* ---- when ---- */

bool dnsrecord_is_settled(const struct dnsrecord_pass *pass)
{
	static const char *const published[] = { "Create", "Reconcile", "Restore" };
	const struct dnsrecord *record = &pass->record;
	const struct api_dnsrecord *spec = &record->spec;
	bool is_settled = false;
	for (size_t i = 0; i < ARRAY_LEN(published); i++)
		is_settled = is_settled || strcmp(spec->operation_type, published[i]) == 0;
	return is_settled && strcmp(spec->operation_state, "Succeeded") == 0 &&
	       !record->is_dry_run && !pass->settings.is_dry_run &&
	       !api_is_deleting(pass->object) && record->problem == NULL &&
	       record->attempt == NULL && record->leftover == NULL && record->applied != NULL &&
	       !record->applied->is_taken_over &&
	       dnsrecord_is_same_set(record->applied, &record->wanted);
}

bool dnsrecord_can_probe(const struct dnsrecord_pass *pass)
{
	return dnsrecord_is_settled(pass) && pass->settings.probe_ns != 0 &&
	       !pass->record.skips_probe;
}

/* Seconds since it was published. */
static uint64_t read_age_s(const struct dnsrecord_pass *pass)
{
	const char *text = api_get_string(pass->object, "status.lastOperation.lastUpdateTime");
	uint64_t now = clock_wall_ns(), then = 0;
	if (api_time_parse(text, &then) < 0 || then > now)
		return 0;
	return (now - then) / NS_PER_S;
}

/* May DNS still have an answer of before the publication? At most for one interval. */
static bool may_be_cached(const struct dnsrecord_pass *pass)
{
	uint64_t ttl_s = pass->record.applied->set.ttl_s;
	uint64_t most_s = MIN(MAX(ttl_s, (uint64_t)CACHED_S), pass->settings.probe_ns / NS_PER_S);
	return !dnsrecord_has_resolvable(&pass->record, DNSRECORD_RESOLVED, NULL) &&
	       read_age_s(pass) < most_s;
}

static void set_due(struct dnsrecord_pass *pass, struct dnsrecord_probe *probe, uint64_t pause_ns)
{
	probe->due_ns = clock_mono_ns() + dnsrecord_jitter(pass->ctx, pause_ns);
}

static uint64_t doubled_ns(const struct dnsrecord_pass *pass, unsigned first_s, unsigned tries)
{
	uint64_t pause_ns = ((uint64_t)first_s << MIN(tries, 10U)) * NS_PER_S;
	return MIN(pause_ns, pass->settings.probe_ns);
}

/* What was just published is asked for soon, and so is, after a start, what never was; the others all over
 * the interval. */
static void set_first(struct dnsrecord_pass *pass, struct dnsrecord_probe *probe)
{
	bool is_new = dnsrecord_has_resolvable(&pass->record, DNSRECORD_NOT_ASKED, NULL);
	uint64_t over_ns = pass->settings.probe_ns;
	if (is_new && read_age_s(pass) < NEVER_ASKED_S) {
		set_due(pass, probe, doubled_ns(pass, FIRST_S, 0));
		return;
	}
	if (is_new)
		over_ns = MIN(over_ns, NEVER_ASKED_S * NS_PER_S);
	probe->due_ns = clock_mono_ns() + dnsrecord_spread(pass->ctx, over_ns);
}

/* ---- the condition ---- */

static int report_condition(struct dnsrecord_pass *pass, enum dnsrecord_resolvable what,
			    const char *message)
{
	int r = dnsrecord_pass_resolvable(pass, what, message);
	if (r > 0 && what == DNSRECORD_OTHER)
		dnsrecord_pass_event(pass, true, "NotResolvable", message);
	return MIN(r, 0);
}

/* Faults have changing texts: reported once. */
static int report_unknown(struct dnsrecord_pass *pass, enum dnsrecord_resolvable what,
			  const char *message)
{
	return dnsrecord_has_resolvable(&pass->record, what, NULL)
		       ? 0
		       : report_condition(pass, what, message);
}

/* ---- the provider ---- */

static uint64_t hash_input(const struct dnsrecord_pass *pass, bool is_reading)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	const struct provider_rrset *set = &pass->record.applied->set;
	strbuf_addf(&text, "probe %d %s %s %u\n", is_reading, api_uid(pass->object), set->name,
		    (unsigned)set->type);
	for (size_t i = 0; i < set->n_values; i++)
		strbuf_addf(&text, "%s\n", set->values[i]);
	return hash_bytes(hash_process_key(), text.s, text.n);
}

static int start_reading(struct dnsrecord_pass *pass, struct dnsrecord_probe *probe)
{
	CLEANUP(dnsrecord_credentials_done) struct dnsrecord_credentials credentials = { 0 };
	struct dnsrecord_step step;
	char why[512];
	int r = dnsrecord_credentials_read(pass->ctx->conn, pass->settings.any_namespace,
					   pass->object, &credentials, ERR_TEXT(why));
	if (r == ERR_CONFIG)
		return report_unknown(pass, DNSRECORD_UNREAD, why);
	if (r < 0) {
		err_text_set(ERR_TEXT(pass->ctx->err), "%s", why);
		return r;
	}
	dnsrecord_find_step(pass, &step);
	struct record_work *work = record_work_new(&(struct record_work_conf){
		.account = { .provider = pass->provider,
			     .credentials = credentials.v,
			     .n_credentials = credentials.n,
			     .region = pass->record.spec.region },
		.zone = step.zone,
		.edits = step.edits,
		.n_edits = 1,
		.priority = PUBLISHER_PERIODIC,
		.only_reads = true,
		.patience_ns = PATIENCE_S * NS_PER_S,
		.lease = pass->ctx->lease,
	});
	probe->is_reading = true;
	engine_submit(pass->ctx->engine, pass->key, hash_input(pass, true), &work->work);
	return 0;
}

static void tell_drift(struct dnsrecord_pass *pass, const struct dnsrecord_probe *probe,
		       const struct publisher_request *request)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	bool has_other = request->n_found != 0 && request->found[0].n_values != 0;
	strbuf_addf(&text, "%s; the provider %s: it is published again", probe->answer,
		    has_other ? "has another record set" : "does not have the record set");
	dnsrecord_pass_event(pass, true, "Drifted", text.s);
	dnsrecord_count_probe("drift");
	pass->memory.has_drifted = true;
	dnsrecord_remember(pass->ctx, pass->key, &pass->memory);
}

static int take_reading(struct dnsrecord_pass *pass, struct dnsrecord_probe *probe,
			const struct record_work *work, bool *ret_has_drifted)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	const struct publisher_request *request = &work->request;
	bool is_read = !work->work.timed_out && request->n_found != 0;
	bool is_equal =
		is_read && provider_rrset_equal(&request->found[0], &pass->record.applied->set);
	probe->is_reading = false;
	set_due(pass, probe, pass->settings.probe_ns);
	if (!is_equal && (is_read || request->code == PROVIDER_NO_ZONE)) {
		tell_drift(pass, probe, request);
		*ret_has_drifted = true;
		return 0;
	}
	strbuf_adds(&text, probe->answer);
	if (is_equal) {
		strbuf_adds(&text, ", although the provider has the record set");
		return report_condition(pass, DNSRECORD_OTHER, text.s);
	}
	strbuf_addf(&text, "; the provider cannot be asked: %s",
		    request->error != NULL ? request->error : "it did not answer in time");
	return report_unknown(pass, DNSRECORD_UNREAD, text.s);
}

/* ---- DNS ---- */

static int take_silence(struct dnsrecord_pass *pass, struct dnsrecord_probe *probe,
			const struct dnsrecord_lookup *lookup)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	dnsrecord_count_probe("no_answer");
	set_due(pass, probe, doubled_ns(pass, SILENT_S, probe->tries));
	if (++probe->tries < SILENT_MAX)
		return 0;
	strbuf_addf(&text, "DNS servers do not answer: %s",
		    lookup->work.timed_out ? "no server answered in time" : lookup->error);
	return report_unknown(pass, DNSRECORD_UNANSWERED, text.s);
}

static int take_other(struct dnsrecord_pass *pass, struct dnsrecord_probe *probe,
		      const struct dnsrecord_lookup *lookup)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	dnsrecord_count_probe("mismatch");
	if (may_be_cached(pass)) {
		uint64_t pause_ns = doubled_ns(pass, FIRST_S, ++probe->tries);
		set_due(pass, probe, MIN(pause_ns, LONGEST_FIRST_S * NS_PER_S));
		return 0;
	}
	probe->tries = 0;
	set_due(pass, probe, pass->settings.probe_ns);
	dnsrecord_describe_answer(&lookup->set, lookup->is_alias, &text);
	free(probe->answer);
	probe->answer = xstrdup(text.s);
	strbuf_adds(&text, ", although the provider has the record set");
	/* The provider was asked when this was written. */
	if (dnsrecord_has_resolvable(&pass->record, DNSRECORD_OTHER, text.s))
		return 0;
	return start_reading(pass, probe);
}

static int take_answer(struct dnsrecord_pass *pass, struct dnsrecord_probe *probe,
		       const struct dnsrecord_lookup *lookup)
{
	if (lookup->work.timed_out || lookup->result < 0)
		return take_silence(pass, probe, lookup);
	if (!dnsrecord_is_resolved(&pass->record.applied->set, &lookup->set))
		return take_other(pass, probe, lookup);
	dnsrecord_count_probe("match");
	probe->tries = 0;
	set_due(pass, probe, pass->settings.probe_ns);
	return report_condition(pass, DNSRECORD_RESOLVED, NULL);
}

static void ask_dns(struct dnsrecord_pass *pass, struct dnsrecord_probe *probe)
{
	struct dnsrecord_lookup *lookup = dnsrecord_lookup_new(&pass->record.applied->set);
	if (lookup != NULL)
		engine_submit(pass->ctx->engine, pass->key, hash_input(pass, false), &lookup->work);
	else /* no server could be asked for such a name */
		set_due(pass, probe, pass->settings.probe_ns);
}

int dnsrecord_probe(struct dnsrecord_pass *pass, bool *ret_has_drifted)
{
	struct dnsrecord_probe *probe = dnsrecord_probe_of(pass->ctx, pass->key);
	struct engine_work *work = NULL;
	int r = 0;
	*ret_has_drifted = false;
	if (probe->due_ns == 0)
		set_first(pass, probe);
	enum engine_state at = engine_take(pass->ctx->engine, pass->key,
					   hash_input(pass, probe->is_reading), &work);
	if (at == ENGINE_UNDER_WAY)
		return 0;
	if (at == ENGINE_COMPLETED) {
		r = probe->is_reading
			    ? take_reading(pass, probe, record_work_of(work), ret_has_drifted)
			    : take_answer(pass, probe, dnsrecord_lookup_of(work));
		engine_work_free(work);
		if (r < 0 || *ret_has_drifted || probe->is_reading)
			return r;
	}
	probe->is_reading = false;
	uint64_t now = clock_mono_ns();
	if (probe->due_ns <= now)
		ask_dns(pass, probe);
	if (probe->due_ns > now)
		pass->ctx->again_ns = probe->due_ns - now;
	return 0;
}
