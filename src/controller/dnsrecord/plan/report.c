/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a report into a copy of the status, and makes a patch of what differs. */
#include "controller/dnsrecord/plan/report.h"

#include <string.h>

#include "api/condition.h"
#include "api/meta.h"
#include "api/time.h"
#include "api/tree.h"
#include "api/tree_copy.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/slice.h"
#include "controller/dnsrecord/plan/names.h"
#include "controller/dnsrecord/plan/resolvable.h"

static const struct {
	const char *text;
	int progress; /* 0: as the report says */
} states[] = {
	[DNSRECORD_PROCESSING] = { "Processing", 0 },
	[DNSRECORD_SUCCEEDED] = { "Succeeded", 100 },
	[DNSRECORD_ERROR] = { "Error", 50 },
};

/* ---- times ---- */

/* Not before the request, also if its clock is ahead of ours: gardenlet compares the two (DR-43). */
static uint64_t choose_time(const json_t *object, uint64_t now_wall_ns)
{
	const char *text = api_annotation(object, DNSRECORD_TIMESTAMP);
	uint64_t asked_ns;
	if (text == NULL || api_time_parse(text, &asked_ns) < 0)
		return now_wall_ns;
	return MAX(now_wall_ns, asked_ns);
}

/* ---- members ---- */

static bool starts_with_url(const char *text)
{
	size_t n = strcspn(text, " ");
	return memmem(text, n, "://", strlen("://")) != NULL;
}

/* A field path would be another one with a capital letter: a word goes before it. URLs stay as they are. */
static char *capitalize(const char *text)
{
	if (strncmp(text, "spec.", strlen("spec.")) == 0)
		return xasprintf("Invalid object: %s", text);
	char *copy = xstrdup(text);
	if (copy[0] >= 'a' && copy[0] <= 'z' && !starts_with_url(text))
		copy[0] = (char)(copy[0] - 'a' + 'A');
	return copy;
}

static json_t *make_operation(const struct dnsrecord_report *report, const char *text,
			      const char *time)
{
	int progress = states[report->state].progress;
	return json_pack("{s:s, s:s, s:i, s:s, s:s}", "type", report->operation, "state",
			 states[report->state].text, "progress",
			 progress != 0 ? progress : report->progress, "description", text,
			 "lastUpdateTime", time);
}

static json_t *make_error(const struct dnsrecord_report *report, const char *text, const char *time)
{
	json_t *codes = json_array();
	if (report->code != NULL && report->code[0] != '\0')
		json_array_append_new(codes, json_string(report->code));
	json_t *error = json_pack("{s:s, s:s, s:o}", "description", text, "lastUpdateTime", time,
				  "codes", codes);
	if (json_array_size(codes) == 0)
		json_object_del(error, "codes");
	return error;
}

static void set_condition(json_t *list, const char *type, enum api_status status,
			  const char *reason, const char *message, uint64_t now_wall_ns)
{
	api_condition_set(list,
			  &(struct api_condition){ .type = type,
						   .status = status,
						   .reason = reason,
						   .message = message,
						   .has_updated_time = true },
			  now_wall_ns);
}

/* Created: False after a creation that failed, True after the first success, and then for ever
 * (DR-42). */
static void set_created(json_t *list, const struct dnsrecord_report *report, uint64_t now_wall_ns)
{
	bool is_new = api_condition_find(list, "Created") == NULL;
	if (report->state == DNSRECORD_SUCCEEDED)
		set_condition(list, "Created", API_TRUE, "Success",
			      "the provider has the record set", now_wall_ns);
	else if (is_new && strcmp(report->operation, "Create") == 0)
		set_condition(list, "Created", API_FALSE, "Error",
			      "the provider never had the record set", now_wall_ns);
}

static void set_ownership(json_t *list, const struct dnsrecord_report *report, const char *text,
			  uint64_t now_wall_ns)
{
	static const struct {
		enum api_status status;
		const char *reason, *message; /* NULL: that of the error */
	} rows[] = {
		[DNSRECORD_OURS] = { API_TRUE, "Written",
				     "this object's controller wrote the "
				     "record set" },
		[DNSRECORD_FOREIGN] = { API_FALSE, "NotOurs", NULL },
		[DNSRECORD_CLAIMED] = { API_FALSE, "NameTaken", NULL },
	};
	enum dnsrecord_ownership which = report->ownership;
	if (which == DNSRECORD_SAME_OWNER)
		return;
	const char *message = rows[which].message != NULL ? rows[which].message : text;
	set_condition(list, "Owned", rows[which].status, rows[which].reason, message, now_wall_ns);
}

static void set_conditions(json_t *list, const struct dnsrecord_report *report, const char *text,
			   uint64_t now_wall_ns)
{
	static const char *const written[] = { "Create", "Reconcile", "Restore" };
	bool is_publication = false;
	for (size_t i = 0; i < ARRAY_LEN(written); i++)
		is_publication = is_publication || strcmp(report->operation, written[i]) == 0;
	if (report->is_waiting)
		set_condition(list, "InSync", API_FALSE, "Waiting", text, now_wall_ns);
	if (!is_publication && report->state == DNSRECORD_ERROR)
		set_condition(list, "InSync", API_FALSE, "NotDeleted", text, now_wall_ns);
	if (!is_publication || report->state == DNSRECORD_PROCESSING)
		return;
	set_created(list, report, now_wall_ns);
	set_ownership(list, report, text, now_wall_ns);
	if (report->is_other_set &&
	    (report->is_probed || api_condition_find(list, "Resolvable") != NULL))
		dnsrecord_set_resolvable(list, DNSRECORD_NOT_ASKED, NULL, now_wall_ns);
	if (report->state == DNSRECORD_SUCCEEDED)
		set_condition(list, "InSync", API_TRUE, "Published",
			      "the provider has what the spec asks for", now_wall_ns);
	else
		set_condition(list, "InSync", API_FALSE, "NotPublished", text, now_wall_ns);
}

/* ---- the patch ---- */

static bool is_time(const char *key)
{
	return strcmp(key, "lastUpdateTime") == 0 || strcmp(key, "lastTransitionTime") == 0;
}

/* Does the object have all of the patch? Times do not count. */
static bool has_all(const json_t *object, const json_t *patch)
{
	const char *key;
	json_t *value;
	size_t i;
	if (json_is_array(patch)) {
		if (json_array_size(object) != json_array_size(patch))
			return false;
		json_array_foreach (api_tree(patch), i, value) {
			if (!has_all(json_array_get(object, i), value))
				return false;
		}
		return true;
	}
	if (json_is_null(patch))
		return object == NULL || json_is_null(object);
	if (!json_is_object(patch))
		return json_equal(object, patch) != 0;
	json_object_foreach (api_tree(patch), key, value) {
		if (!is_time(key) && !has_all(json_object_get(object, key), value))
			return false;
	}
	/* A set that is removed member by member is not there. */
	return json_is_object(object) || json_object_size(patch) == 0;
}

json_t *dnsrecord_published(const json_t *object)
{
	static const char *const members[] = { "name", "recordType", "ttl", "values" };
	const json_t *spec = api_get(object, "spec");
	json_t *out = json_object();
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		json_t *value = json_object_get(spec, members[i]);
		json_object_set_new(out, members[i],
				    value != NULL ? json_deep_copy(value) : json_null());
	}
	return out;
}

/* Elsewhere the spec is served at once. */
static void set_published(json_t *state, const json_t *object,
			  const struct dnsrecord_report *report)
{
	if (report->shows_published)
		json_object_set_new(state, "published", dnsrecord_published(object));
	else if (report->state == DNSRECORD_SUCCEEDED && report->known.applied != NULL &&
		 strcmp(report->operation, "Migrate") != 0 &&
		 api_get(object, "status.state.published") != NULL)
		json_object_set_new(state, "published", json_null());
}

/* An object that would be made of nulls only is left out. */
static json_t *make_state(const json_t *object, const struct dnsrecord_report *report)
{
	const struct dnsrecord_known *known = &report->known;
	bool has_secret = report->secret != NULL && report->secret[0] != '\0';
	json_t *state =
		json_pack("{s:o, s:o, s:o}", "attempt", dnsrecord_set_to_json(known->attempt),
			  "applied", dnsrecord_set_to_json(known->applied), "leftover",
			  dnsrecord_set_to_json(known->leftover));
	bool is_empty = known->attempt == NULL && known->applied == NULL &&
			known->leftover == NULL && !has_secret;
	if (is_empty && !json_is_object(api_get(object, "status.state"))) {
		json_decref(state);
		return NULL;
	}
	set_published(state, object, report);
	if (report->secret != NULL)
		json_object_set_new(state, "secret",
				    has_secret ? json_string(report->secret) : json_null());
	return state;
}

static json_t *make_status(const struct dnsrecord *record, const struct dnsrecord_report *report,
			   const char *text, uint64_t now_wall_ns)
{
	char time[API_TIME_TEXT_MAX];
	const json_t *list = api_get(record->object, "status.conditions");
	json_t *conditions = json_is_array(list) ? api_tree_copy(list) : json_array();
	json_t *status = json_object(), *state = make_state(record->object, report);
	api_time_format(now_wall_ns, time);
	json_object_set_new(status, "lastOperation", make_operation(report, text, time));
	if (report->state == DNSRECORD_ERROR)
		json_object_set_new(status, "lastError", make_error(report, text, time));
	else if (report->state == DNSRECORD_SUCCEEDED)
		json_object_set_new(status, "lastError", json_null());
	if (report->state != DNSRECORD_PROCESSING)
		json_object_set_new(status, "observedGeneration",
				    json_integer(api_generation(record->object)));
	set_conditions(conditions, report, text, now_wall_ns);
	if (json_array_size(conditions) != 0)
		json_object_set(status, "conditions", conditions);
	json_decref(conditions);
	json_object_set_new(status, "zone",
			    report->known.zone != NULL ? json_string(report->known.zone)
						       : json_null());
	if (state != NULL)
		json_object_set_new(status, "state", state);
	/* A dry run of before is over. */
	if (!report->keeps_dry_run &&
	    api_get(record->object, "status.providerStatus.dryRun") != NULL)
		json_object_set_new(status, "providerStatus", json_pack("{s:n}", "dryRun"));
	return status;
}

/* A request for the same once more wants a later time (DR-43). */
static bool is_recent(const json_t *object, uint64_t now_wall_ns)
{
	uint64_t last_ns;
	return choose_time(object, 0) == 0 ||
	       (api_time_parse(api_get_string(object, "status.lastOperation.lastUpdateTime"),
			       &last_ns) == 0 &&
		last_ns / NS_PER_S >= MIN(choose_time(object, 0), now_wall_ns) / NS_PER_S);
}

bool dnsrecord_report_is_known(const json_t *object, const char *description)
{
	CLEANUP(freep) char *text = capitalize(description);
	return strcmp(api_get_string(object, "status.lastError.description"), text) == 0;
}

json_t *dnsrecord_report_patch(const struct dnsrecord *record,
			       const struct dnsrecord_report *report, uint64_t now_wall_ns)
{
	CLEANUP(freep) char *text = capitalize(report->description);
	uint64_t time_ns = choose_time(record->object, now_wall_ns);
	json_t *status = make_status(record, report, text, time_ns);
	if (has_all(api_get(record->object, "status"), status) &&
	    is_recent(record->object, now_wall_ns)) {
		json_decref(status);
		return NULL;
	}
	/* Codes of an error before are not merged: lists are replaced, but a list that is left out stays. */
	json_t *error = json_object_get(status, "lastError");
	if (json_is_object(error) && json_object_get(error, "codes") == NULL)
		json_object_set_new(error, "codes", json_null());
	return json_pack("{s:o}", "status", status);
}
