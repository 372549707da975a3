/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps at the provider and what they leave in the status, by a table: zones (DR-14, DR-17, DR-20),
 * changed names (DR-12), guards (DR-P6), takeover (DR-21), what may have been sent (DR-47). */
#include "controller/dnsrecord/plan/step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "controller/dnsrecord/plan/diff.h"
#include "dns/types.h"

#define SET(zone, name, value)                \
	"{\"zone\":" zone ",\"name\":\"" name \
	"\",\"recordType\":\"A\",\"ttl\":120,\"values\":[\"" value "\"]}"
#define Z1   "\"Z1\""
#define MINE SET(Z1, "a.example.com", "192.0.2.1")
#define OLD  SET(Z1, "a.example.com", "192.0.2.9")

static const struct row {
	const char *what, *spec, *status;
	bool withdraws;
	struct dnsrecord_rules rules;
	/* "kind zone edits"; each edit is "+name" or "-name" and the guard's letter */
	const char *want;
	const char *after;	/* attempt, applied, leftover after success in zone Z9 */
	const char *after_fail; /* the same after a refusal */
} rows[] = {
	{ "first", "", "", false, { 0 }, "put - +a.example.com:O", "- a@Z9 -", "- - -" },
	{ "zone of the spec",
	  ",\"zone\":\"Z3\"",
	  "\"zone\":\"Z1\"",
	  false,
	  { 0 },
	  "put Z3 +a.example.com:O",
	  "- a@Z9 -",
	  "- - -" },
	{ "zone of the status",
	  "",
	  "\"zone\":\"Z1\"",
	  false,
	  { 0 },
	  "put Z1 +a.example.com:O",
	  "- a@Z9 -",
	  "- - -" },
	{ "killed while it was written",
	  "",
	  "\"state\":{\"attempt\":" MINE "}",
	  false,
	  { 0 },
	  "put? - +a.example.com:O",
	  "- a@Z9 -",
	  "- - -" },
	{ "another spec since",
	  "",
	  "\"state\":{\"attempt\":" OLD "}",
	  false,
	  { 0 },
	  "attempt? Z1 +a.example.com:O",
	  "a a@Z9 -",
	  "a - -" },
	{ "changed",
	  "",
	  "\"state\":{\"applied\":" OLD "}",
	  false,
	  { 0 },
	  "put?2 Z1 +a.example.com:B",
	  "- a@Z9 a@Z1",
	  "- a@Z1 -" },
	{ "changed, missing there",
	  "",
	  "\"state\":{\"applied\":" OLD "}",
	  false,
	  { .may_be_gone = true },
	  "put? Z1 +a.example.com:O",
	  "- a@Z9 a@Z1",
	  "- a@Z1 -" },
	{ "its zone is missing: searched, and nothing of before is forgotten",
	  "",
	  "\"zone\":\"Z1\",\"state\":{\"applied\":" OLD "}",
	  false,
	  { .searches_zone = true },
	  "put?2 - +a.example.com:B",
	  "- a@Z9 a@Z1",
	  "- a@Z1 -" },
	{ "its zone is missing, another type since",
	  ",\"recordType\":\"AAAA\",\"values\":[\"2001:db8::1\"]",
	  "\"zone\":\"Z1\",\"state\":{\"applied\":" OLD "}",
	  false,
	  { .searches_zone = true },
	  "put - +a.example.com:O",
	  "- a@Z9 a@Z1",
	  "- a@Z1 -" },
	{ "restored",
	  "",
	  "\"state\":{\"applied\":" OLD "}",
	  false,
	  { .is_restore = true },
	  "put? Z1 +a.example.com:N",
	  "- a@Z9 a@Z1",
	  "- a@Z1 -" },
	{ "drop-in",
	  "",
	  "",
	  false,
	  { .is_drop_in = true },
	  "put - +a.example.com:N",
	  "- a@Z9 -",
	  "- - -" },
	{ "another name",
	  "",
	  "\"state\":{\"applied\":" SET(Z1, "b.example.com", "192.0.2.1") "}",
	  false,
	  { 0 },
	  "put - +a.example.com:O",
	  "- a@Z9 b@Z1",
	  "- b@Z1 -" },
	{ "another name in a zone that is given",
	  ",\"zone\":\"Z1\"",
	  "\"state\":{\"applied\":" SET(Z1, "b.example.com", "192.0.2.1") "}",
	  false,
	  { 0 },
	  "put Z1 +a.example.com:O -b.example.com:B",
	  "- a@Z9 -",
	  "- b@Z1 -" },
	{ "another zone",
	  ",\"zone\":\"Z9\"",
	  "\"state\":{\"applied\":" MINE "}",
	  false,
	  { 0 },
	  "put Z9 +a.example.com:O",
	  "- a@Z9 a@Z1",
	  "- a@Z1 -" },
	{ "a leftover goes first",
	  "",
	  "\"state\":{\"applied\":" MINE ",\"leftover\":" OLD "}",
	  false,
	  { 0 },
	  "leftover Z1 -a.example.com:B",
	  "- a@Z1 -",
	  "- a@Z1 a@Z1" },
	{ "taken over",
	  "",
	  "\"zone\":\"Z1\",\"lastOperation\":{\"type\":\"Create\",\"state\":\"Succeeded\"}",
	  false,
	  { 0 },
	  "put?2 Z1 +a.example.com:B",
	  "- a@Z9 a@Z1",
	  "- a@Z1 -" },
	/* deletion */
	{ "never there", "", "", true, { 0 }, "none -", "- - -", "- - -" },
	{ "never there, searched zone",
	  "",
	  "\"zone\":\"Z1\"",
	  true,
	  { 0 },
	  "none -",
	  "- - -",
	  "- - -" },
	{ "deleted",
	  "",
	  "\"state\":{\"applied\":" MINE "}",
	  true,
	  { 0 },
	  "applied Z1 -a.example.com:B",
	  "- - -",
	  "- a@Z1 -" },
	{ "deleted, perhaps written",
	  "",
	  "\"state\":{\"attempt\":" MINE ",\"applied\":" OLD "}",
	  true,
	  { 0 },
	  "dropattempt Z1 -a.example.com:b",
	  "- a@Z1 -",
	  "a a@Z1 -" },
	{ "deleted, of another controller",
	  "",
	  "\"zone\":\"Z1\",\"conditions\":[{\"type\":\"Created\",\"status\":\"True\"}]",
	  true,
	  { 0 },
	  "applied Z1 -a.example.com:B",
	  "- - -",
	  "- a@Z1 -" },
	{ "deleted already",
	  "",
	  "\"zone\":\"Z1\",\"lastOperation\":{\"type\":\"Delete\",\"state\":\"Succeeded\"}",
	  true,
	  { 0 },
	  "none -",
	  "- - -",
	  "- - -" },
};

static json_t *make_object(const char *spec, const char *status)
{
	CLEANUP(freep)
	char *text = xasprintf("{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"generation\":1},"
			       "\"spec\":{\"type\":\"memory\",\"secretRef\":{\"name\":\"s\"},"
			       "\"name\":\"a.example.com\",\"recordType\":\"A\",\"values\":"
			       "[\"192.0.2.1\"]%s},\"status\":{%s}}",
			       spec, status);
	json_error_t error;
	json_t *object = json_loads(text, 0, &error);
	if (object == NULL)
		fail_msg("%s: %s", text, error.text);
	return object;
}

/* Owned: without a set of before, with one, with one that may lack a mark. */
static char letter_of(const struct provider_edit *edit)
{
	if (edit->guard != PROVIDER_GUARD_OWNED)
		return "NAE?"[edit->guard];
	if (edit->before.n_values == 0)
		return 'O';
	return edit->may_lack_mark ? 'B' : 'b';
}

static void print_step(const struct dnsrecord_step *step, struct strbuf *out)
{
	static const char *const kinds[] = { "none",	 "put",		"attempt",
					     "leftover", "dropattempt", "applied" };
	strbuf_addf(out, "%s%s%s %s", kinds[step->kind], step->maybe_applied ? "?" : "",
		    step->has_second_try ? "2" : "", step->zone != NULL ? step->zone : "-");
	for (size_t i = 0; i < step->n_edits; i++)
		strbuf_addf(out, " %c%s:%c", step->edits[i].set.n_values != 0 ? '+' : '-',
			    step->edits[i].set.name, letter_of(&step->edits[i]));
}

static void print_set(const struct dnsrecord_set *set, bool with_zone, struct strbuf *out)
{
	if (set == NULL)
		strbuf_adds(out, "-");
	else if (with_zone)
		strbuf_addf(out, "%.1s@%s", set->set.name, set->zone);
	else
		strbuf_addf(out, "%.1s", set->set.name);
}

static void check_known(const struct row *row, const struct dnsrecord_known *known,
			const char *want)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	print_set(known->attempt, false, &text);
	strbuf_addc(&text, ' ');
	print_set(known->applied, true, &text);
	strbuf_addc(&text, ' ');
	print_set(known->leftover, true, &text);
	if (strcmp(text.s, want) != 0)
		fail_msg("%s: %s, not %s", row->what, text.s, want);
}

static void table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		const struct row *row = &rows[i];
		struct arena arena;
		struct dnsrecord record;
		struct dnsrecord_step step;
		json_t *object = make_object(row->spec, row->status);
		arena_init(&arena);
		dnsrecord_read(object, &arena, &record);
		dnsrecord_next_step(&record, row->withdraws, &row->rules, &step);
		print_step(&step, &text);
		if (strcmp(text.s, row->want) != 0)
			fail_msg("%s: %s, not %s", row->what, text.s, row->want);
		struct dnsrecord_known known =
			dnsrecord_succeeded_known(&record, &step, "Z9", &arena);
		if (step.kind != DNSRECORD_NO_STEP)
			check_known(row, &known, row->after);
		known = dnsrecord_refused_known(&record, &step);
		check_known(row, &known, row->after_fail);
		arena_done(&arena);
		json_decref(object);
	}
}

/* DR-47, DR-49: what was never sent needs no provider to be deleted, also after a restart. */
static void waiting(void **state)
{
	static const struct {
		const char *status;
		bool is_sent;
		const char *want; /* the step of a deletion afterwards */
	} all[] = {
		{ "\"state\":{\"attempt\":" MINE "}", false, "none -" },
		{ "\"state\":{\"attempt\":" MINE "}", true, "dropattempt Z1 -a.example.com:b" },
		{ "", true, "dropattempt - -a.example.com:b" },
		{ "\"state\":{\"attempt\":" MINE ",\"applied\":" OLD "}", false,
		  "dropattempt Z1 -a.example.com:b" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		struct dnsrecord_rules rules = { 0 };
		struct dnsrecord_step step;
		struct dnsrecord record;
		struct arena arena;
		json_t *object = make_object("", all[i].status);
		arena_init(&arena);
		dnsrecord_read(object, &arena, &record);
		struct dnsrecord_known known =
			dnsrecord_waiting_known(&record, false, all[i].is_sent);
		record.attempt = known.attempt;
		record.applied = known.applied;
		dnsrecord_next_step(&record, true, &rules, &step);
		print_step(&step, &text);
		assert_string_equal(text.s, all[i].want);
		arena_done(&arena);
		json_decref(object);
	}
}

/* The annotation overwrites once: what was written by then is compared and swapped. */
static void adoption(void **state)
{
	static const struct {
		const char *status;
		char guard;
	} all[] = {
		{ "", 'N' },
		{ "\"state\":{\"attempt\":" MINE "}", 'N' },
		{ "\"state\":{\"applied\":" SET(Z1, "b.example.com", "192.0.2.1") "}", 'N' },
		{ "\"zone\":\"Z1\",\"lastOperation\":{\"type\":\"Create\",\"state\":"
		  "\"Succeeded\"}",
		  'N' },
		{ "\"state\":{\"applied\":" OLD "}", 'B' },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct dnsrecord_rules rules = { 0 };
		struct dnsrecord_step step;
		struct dnsrecord record;
		struct arena arena;
		json_t *object = make_object("", all[i].status);
		json_object_set_new(json_object_get(object, "metadata"), "annotations",
				    json_pack("{s:s}", "dnsrecord.fairlead.dev/adopt", "true"));
		arena_init(&arena);
		dnsrecord_read(object, &arena, &record);
		dnsrecord_next_step(&record, false, &rules, &step);
		assert_int_equal(letter_of(&step.edits[0]), all[i].guard);
		arena_done(&arena);
		json_decref(object);
	}
}

/* TXT values of any bytes come back from the status as they were. */
static void any_bytes(void **state)
{
	static const char *const values[] = { "", "\\", "\\065", "\x01\x7f\xc3\xa4\xff\"" };
	struct dnsrecord_set set = { .zone = "Z1",
				     .set = { .name = "a.example.com",
					      .type = DNS_TYPE_TXT,
					      .ttl_s = 0,
					      .values = values,
					      .n_values = ARRAY_LEN(values) } };
	struct arena arena;
	struct dnsrecord record;
	(void)state;
	arena_init(&arena);
	json_t *object = make_object("", "");
	json_object_set_new(json_object_get(object, "status"), "state",
			    json_pack("{s:o}", "applied", dnsrecord_set_to_json(&set)));
	dnsrecord_read(object, &arena, &record);
	assert_non_null(record.applied);
	const char *sorted[ARRAY_LEN(values)];
	memcpy(sorted, values, sizeof(values));
	set.set.n_values = provider_values_sort(sorted, ARRAY_LEN(values));
	set.set.values = sorted;
	assert_true(provider_rrset_equal(&record.applied->set, &set.set));
	arena_done(&arena);
	json_decref(object);
}

/* Whatever stands in status.state, it is ours only if it is whole. */
static void damaged_state(void **state)
{
	static const char *const texts[] = {
		"\"state\":7",
		"\"state\":{\"applied\":[]}",
		"\"state\":{\"applied\":{\"name\":\"a.b\",\"recordType\":\"A\",\"values\":[]}}",
		"\"state\":{\"applied\":{\"name\":\"a.b\",\"recordType\":\"MX\",\"values\":[\"x\"]}"
		"}",
		"\"state\":{\"applied\":{\"name\":\"a.b\",\"recordType\":\"A\",\"values\":[1]}}",
		"\"state\":{\"applied\":{\"name\":\"a.b\",\"recordType\":\"A\",\"ttl\":-1,"
		"\"values\":[\"x\"]}}",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct arena arena;
		struct dnsrecord record;
		json_t *object = make_object("", texts[i]);
		arena_init(&arena);
		dnsrecord_read(object, &arena, &record);
		assert_null(record.applied);
		arena_done(&arena);
		json_decref(object);
	}
}

static void differences(void **state)
{
	static const struct {
		const char *spec, *status;
		bool withdraws;
		const char *want; /* actions */
	} all[] = {
		{ "", "", false, "create " },
		{ "", "\"state\":{\"applied\":" MINE "}", false, "" },
		{ "", "\"state\":{\"applied\":" OLD "}", false, "change " },
		{ ",\"zone\":\"Z3\"", "\"state\":{\"applied\":" MINE "}", false, "create delete " },
		{ "", "\"state\":{\"applied\":" MINE "}", true, "delete " },
		{ "", "", true, "" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		struct arena arena;
		struct dnsrecord record;
		json_t *object = make_object(all[i].spec, all[i].status), *change;
		size_t k;
		arena_init(&arena);
		dnsrecord_read(object, &arena, &record);
		json_t *list = dnsrecord_diff(&record, all[i].withdraws);
		json_array_foreach (list, k, change)
			strbuf_addf(&text, "%s ",
				    json_string_value(json_object_get(change, "action")));
		assert_string_equal(text.s, all[i].want);
		json_decref(list);
		arena_done(&arena);
		json_decref(object);
	}
}

/* DR-7, DR-9, DR-10: field paths. */
static void problems(void **state)
{
	static const struct {
		const char *spec, *want;
	} all[] = {
		{ ",\"zone\":\"\"", "spec.zone" },
		{ ",\"region\":\"\"", "spec.region" },
		{ ",\"values\":[\"2001:db8::1\"]", "spec.values[0]" },
		{ ",\"recordType\":\"MX\"", "spec.recordType" },
		{ ",\"name\":\"example\"", "spec.name" },
		{ ",\"values\":[]", "spec.values" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct arena arena;
		struct dnsrecord record;
		json_t *object = make_object(all[i].spec, "");
		arena_init(&arena);
		dnsrecord_read(object, &arena, &record);
		assert_non_null(record.problem);
		assert_non_null(strstr(record.problem, all[i].want));
		arena_done(&arena);
		json_decref(object);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),	 cmocka_unit_test(any_bytes),
		cmocka_unit_test(damaged_state), cmocka_unit_test(differences),
		cmocka_unit_test(problems),	 cmocka_unit_test(adoption),
		cmocka_unit_test(waiting),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
