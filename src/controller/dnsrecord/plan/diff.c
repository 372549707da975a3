/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the sets of a DNSRecord: what is wanted, and what was applied. */
#include "controller/dnsrecord/plan/diff.h"

#include "provider/publisher.h"

static json_t *content_of(const struct dnsrecord_set *set)
{
	json_t *tree = dnsrecord_set_to_json(set);
	json_t *content = json_pack("{s:O, s:O}", "ttl", json_object_get(tree, "ttl"), "values",
				    json_object_get(tree, "values"));
	json_decref(tree);
	return content;
}

static void add_change(json_t *list, const char *action, const struct dnsrecord_set *before,
		       const struct dnsrecord_set *after)
{
	json_t *change = dnsrecord_set_to_json(after != NULL ? after : before);
	json_object_del(change, "ttl");
	json_object_del(change, "values");
	json_object_del(change, "takenOver");
	if (json_is_null(json_object_get(change, "zone")))
		json_object_del(change, "zone");
	json_object_set_new(change, "action", json_string(action));
	if (before != NULL)
		json_object_set_new(change, "before", content_of(before));
	if (after != NULL)
		json_object_set_new(change, "after", content_of(after));
	json_array_append_new(list, change);
}

json_t *dnsrecord_diff(const struct dnsrecord *record, bool withdraws)
{
	json_t *list = json_array();
	const struct dnsrecord_set *before = record->applied, *wanted = &record->wanted;
	bool stays = !withdraws && before != NULL && dnsrecord_is_same_place(before, wanted);
	if (record->leftover != NULL)
		add_change(list, "delete", record->leftover, NULL);
	if (!withdraws && before == NULL)
		add_change(list, "create", NULL, wanted);
	if (stays && !dnsrecord_is_same_set(before, wanted))
		add_change(list, "change", before, wanted);
	if (!stays && before != NULL) {
		if (!withdraws)
			add_change(list, "create", NULL, wanted);
		add_change(list, "delete", before, NULL);
	}
	return list;
}

/* What a step changes, compared with what the provider has: one set for each edit of the step, those without
 * values are missing. `zone` may be NULL. */
static void diff_step(json_t *list, const struct dnsrecord_step *step, const char *zone,
		      const struct provider_rrset *found)
{
	for (size_t i = 0; i < step->n_edits; i++) {
		struct dnsrecord_set before = { zone, found[i], false };
		struct dnsrecord_set after = { zone, step->edits[i].set, false };
		bool is_there = found[i].n_values != 0, is_wanted = after.set.n_values != 0;
		if (provider_rrset_equal(&before.set, &after.set))
			continue;
		add_change(list,
			   !is_there   ? "create"
			   : is_wanted ? "change"
				       : "delete",
			   is_there ? &before : NULL, is_wanted ? &after : NULL);
	}
}

bool dnsrecord_diff_reading(json_t *report, const struct dnsrecord_step *step,
			    const struct publisher_request *request)
{
	bool is_put = step->kind == DNSRECORD_PUT_WANTED || step->kind == DNSRECORD_PUT_ATTEMPT;
	bool is_refusal = request->code == PROVIDER_CONFLICT || request->code == PROVIDER_NO_ZONE ||
			  request->code == PROVIDER_OTHER_ZONE;
	if (request->code == PROVIDER_OK && request->n_found == step->n_edits)
		diff_step(json_object_get(report, "changes"), step, request->zone_id,
			  request->found);
	else if (!is_refusal)
		return false;
	else if (is_put)
		json_object_set_new(report, "problem", json_string(request->error));
	else if (request->code == PROVIDER_CONFLICT)
		json_object_set_new(report, "note", json_string(request->error));
	return true; /* without a zone nothing is left to delete */
}
