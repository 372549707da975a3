/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Status conditions: finding one, and setting it so that lastTransitionTime changes only with its status.
 */
#include "api/condition.h"

#include <string.h>

#include "api/json_text.h"
#include "api/time.h"
#include "api/tree.h"
#include "base/compiler.h"

static const char *const status_text[] = {
	[API_UNKNOWN] = "Unknown", [API_FALSE] = "False", [API_TRUE] = "True"
};

json_t *api_condition_find(const json_t *conditions, const char *type)
{
	json_t *c;
	size_t i;
	json_array_foreach (conditions, i, c) {
		const char *t = api_text(json_object_get(c, "type"));
		if (strcmp(t, type) == 0)
			return c;
	}
	return NULL;
}

enum api_status api_condition_status(const json_t *conditions, const char *type)
{
	const char *s = api_text(json_object_get(api_condition_find(conditions, type), "status"));
	for (size_t i = 0; i < ARRAY_LEN(status_text); i++) {
		if (strcmp(s, status_text[i]) == 0)
			return (enum api_status)i;
	}
	return API_UNKNOWN;
}

/* True when it was another value. */
static bool set_member(json_t *object, const char *key, json_t *value)
{
	bool same = json_equal(json_object_get(object, key), value) != 0;
	json_object_set_new(object, key, value);
	return !same;
}

bool api_condition_set(json_t *conditions, const struct api_condition *condition,
		       uint64_t now_wall_ns)
{
	char now[API_TIME_TEXT_MAX];
	json_t *o = api_condition_find(conditions, condition->type);
	if (o == NULL) {
		o = json_object();
		json_object_set_new(o, "type", json_string(condition->type));
		json_array_append_new(conditions, o);
	}
	bool moved = set_member(o, "status", json_string(status_text[condition->status]));
	bool changed = moved;
	changed |= set_member(o, "reason", json_string(condition->reason));
	changed |= set_member(o, "message",
			      json_string(condition->message != NULL ? condition->message : ""));
	if (condition->generation != 0)
		changed |= set_member(o, "observedGeneration", json_integer(condition->generation));
	if (moved || json_object_get(o, "lastTransitionTime") == NULL)
		json_object_set_new(o, "lastTransitionTime",
				    json_string(api_time_format(now_wall_ns, now)));
	if (condition->has_updated_time &&
	    (changed || json_object_get(o, "lastUpdateTime") == NULL))
		json_object_set_new(o, "lastUpdateTime",
				    json_string(api_time_format(now_wall_ns, now)));
	return changed;
}

void api_condition_write(struct strbuf *out, const struct api_condition *condition,
			 uint64_t now_wall_ns)
{
	char now[API_TIME_TEXT_MAX];
	api_time_format(now_wall_ns, now);
	strbuf_addc(out, '{');
	api_json_add_member(out, "type", condition->type);
	api_json_add_member(out, "status", status_text[condition->status]);
	api_json_add_member(out, "reason", condition->reason);
	api_json_add_member(out, "message", condition->message != NULL ? condition->message : "");
	if (condition->generation != 0)
		strbuf_addf(out, ",\"observedGeneration\":%lld", (long long)condition->generation);
	api_json_add_member(out, "lastTransitionTime", now);
	if (condition->has_updated_time)
		api_json_add_member(out, "lastUpdateTime", now);
}
