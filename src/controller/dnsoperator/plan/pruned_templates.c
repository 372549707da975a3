/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which list of templates must survive a CRD without the field, and when it is restored. */
#include "controller/dnsoperator/plan/pruned_templates.h"

#include <string.h>

#include "api/meta.h"
#include "controller/dnsoperator/plan/validate_templates.h"

/* Of what was accepted as JSON; a ConfigMap holds a MiB. */
enum { ACCEPTED_MAX = 1000 << 10 };

static const json_t *kept_list(const json_t *accepted)
{
	const json_t *own = api_get(accepted, "stored.templates");
	return own != NULL ? own : json_object_get(accepted, "templates");
}

/* Does the kept list belong to this object, not to a deleted one of the same name? */
static bool is_of(const json_t *stored, const json_t *dns)
{
	const char *uid = api_get_string(stored, "uid");
	return uid[0] != '\0' && strcmp(uid, api_uid(dns)) == 0;
}

/* A list that is gone: a CRD may have dropped it, or somebody removed it. A removal makes a
 * new generation; an API server that drops it does not, unless more was changed. */
static struct dnsoperator_kept_templates find_lost(const struct dnsoperator_plan_in *in,
						   const struct dnsoperator_dns *dns)
{
	const json_t *stored = json_object_get(in->accepted, "stored");
	const json_t *list = kept_list(in->accepted);
	struct dnsoperator_kept_templates none = { 0 }, lost = {
		.list = list,
		.generation = json_integer_value(json_object_get(stored, "generation")),
		.pruned = json_is_true(json_object_get(stored, "pruned")),
	};
	if (!is_of(stored, in->dns) || json_array_size(list) == 0)
		return none;
	switch (in->facts->keeps) {
	case DNSOPERATOR_PRUNES:
		lost.pruned = true;
		return lost;
	case DNSOPERATOR_KEEPS_UNKNOWN:
		return lost;
	case DNSOPERATOR_KEEPS:
		break;
	}
	/* an annotation that was set since then wins */
	lost.restore =
		dns->annotation == NULL && (lost.pruned || lost.generation == dns->generation);
	return lost.restore ? lost : none;
}

struct dnsoperator_kept_templates dnsoperator_kept_templates_find(
	const struct dnsoperator_plan_in *in, const struct dnsoperator_dns *dns)
{
	if (dns->templates == NULL)
		return find_lost(in, dns);
	if (json_array_size(dns->templates) == 0)
		return (struct dnsoperator_kept_templates){ 0 };
	return (struct dnsoperator_kept_templates){ .list = dns->templates,
						    .generation = dns->generation };
}

static bool is_valid(const struct dnsoperator_plan_in *in, const json_t *list)
{
	struct dnsoperator_problems problems = { 0 };
	struct dnsoperator_templates templates;
	struct arena arena;
	arena_init(&arena);
	bool valid = json_array_size(list) != 0 &&
		     dnsoperator_templates_check(list, dnsoperator_reserved_domain(in->facts),
						 &arena, &templates, &problems) == 0;
	dnsoperator_problems_done(&problems);
	arena_done(&arena);
	return valid;
}

const json_t *dnsoperator_kept_templates_last(const struct dnsoperator_plan_in *in)
{
	const json_t *stored = json_object_get(in->accepted, "stored");
	const json_t *last = json_object_get(in->accepted, "last");
	const json_t *lists[] = { json_object_get(stored, "templates"),
				  json_object_get(last, "templates"),
				  json_object_get(in->accepted, "templates") };
	/* accepted templates are the object's own where "stored" is */
	const json_t *owners[] = { stored, last, stored };
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		if (is_of(owners[i], in->dns) && is_valid(in, lists[i]))
			return lists[i];
	}
	return NULL;
}

static size_t size_of(const json_t *object)
{
	return json_dumpb(object, NULL, 0, JSON_COMPACT);
}

void dnsoperator_kept_templates_store(const struct dnsoperator_kept_templates *kept,
				      const json_t *dns, json_t *accepted)
{
	json_object_del(accepted, "stored");
	if (kept->list == NULL)
		return;
	json_t *stored = json_pack("{ss,sI}", "uid", api_uid(dns), "generation",
				   (json_int_t)kept->generation);
	if (kept->pruned)
		json_object_set_new(stored, "pruned", json_true());
	json_object_set_new(accepted, "stored", stored);
	if (json_equal(api_tree(kept->list), json_object_get(accepted, "templates")))
		return;
	json_object_set_new(stored, "templates", json_deep_copy(kept->list));
	/* too large, and the object still has the list; once it has not, the copy must be kept */
	if (!kept->pruned && !kept->restore && size_of(accepted) > ACCEPTED_MAX)
		json_object_del(accepted, "stored");
}

void dnsoperator_kept_templates_store_last(const json_t *list, const json_t *dns, json_t *accepted)
{
	json_object_del(accepted, "last");
	bool is_stored = json_object_get(accepted, "stored") != NULL &&
			 json_equal(api_tree(list), api_tree(kept_list(accepted)));
	if (list == NULL || is_stored)
		return;
	json_object_set_new(accepted, "last",
			    json_pack("{ss,sO}", "uid", api_uid(dns), "templates", list));
	if (size_of(accepted) > ACCEPTED_MAX)
		json_object_del(accepted, "last");
}
