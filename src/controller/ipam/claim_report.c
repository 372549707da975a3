/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes the status of a claim, as a tree or as text. Most claims get one status only, and its text costs
 * a fraction of the tree. */
#include "controller/ipam/claim_report.h"

#include <string.h>

#include "api/condition.h"
#include "api/json_text.h"
#include "api/meta.h"

static json_t *list_at(json_t *object, const char *key)
{
	json_t *list = json_object_get(object, key);
	if (json_is_array(list))
		return list;
	list = json_array();
	json_object_set_new(object, key, list);
	return list;
}

static json_t *object_at(json_t *object, const char *key)
{
	json_t *member = json_object_get(object, key);
	if (json_is_object(member))
		return member;
	member = json_object();
	json_object_set_new(object, key, member);
	return member;
}

static bool is_v1beta2(const struct ipam_claim_version *claim)
{
	return strcmp(claim->api, "v1beta2") == 0;
}

/* The older form has no observedGeneration, which 0 stands for. */
static struct api_condition condition_of(const struct ipam_claim_report *report, int64_t generation)
{
	return (struct api_condition){ .type = "Ready",
				       .status = report->address != NULL ? API_TRUE : API_FALSE,
				       .reason = report->reason,
				       .message = report->message,
				       .generation = generation };
}

/* ---- as a tree ---- */

/* Those of v1beta1 have a severity when they are False. */
static bool set_older_form(json_t *list, const struct ipam_claim_report *report, uint64_t now_ns)
{
	struct api_condition condition = condition_of(report, 0);
	bool changed = api_condition_set(list, &condition, now_ns);
	json_t *entry = api_condition_find(list, "Ready");
	if (report->address == NULL)
		json_object_set_new(entry, "severity", json_string("Warning"));
	else
		json_object_del(entry, "severity");
	return changed;
}

static bool set_newer_form(json_t *list, const struct ipam_claim_report *report,
			   const struct ipam_claim_version *claim)
{
	struct api_condition condition = condition_of(report, claim->generation);
	return api_condition_set(list, &condition, claim->now_ns);
}

/* The other form may be dropped by the CRD: it does not count as a change. */
static bool set_conditions(const struct ipam_claim_report *report,
			   const struct ipam_claim_version *claim, json_t *status)
{
	if (is_v1beta2(claim)) {
		json_t *older = object_at(object_at(status, "deprecated"), "v1beta1");
		set_older_form(list_at(older, "conditions"), report, claim->now_ns);
		return set_newer_form(list_at(status, "conditions"), report, claim);
	}
	set_newer_form(list_at(object_at(status, "v1beta2"), "conditions"), report, claim);
	return set_older_form(list_at(status, "conditions"), report, claim->now_ns);
}

bool ipam_claim_report_set(const struct ipam_claim_report *report,
			   const struct ipam_claim_version *claim, json_t *status)
{
	bool changed = set_conditions(report, claim, status);
	if (report->address != NULL &&
	    strcmp(api_get_string(status, "addressRef.name"), report->address) != 0) {
		json_object_set_new(status, "addressRef",
				    json_pack("{s:s}", "name", report->address));
		changed = true;
	}
	if (report->address == NULL && json_object_del(status, "addressRef") == 0)
		changed = true;
	return changed;
}

/* ---- as text ---- */

/* "conditions":[...] in one of the two forms. */
static void add_condition(const struct ipam_claim_report *report,
			  const struct ipam_claim_version *claim, bool newer, struct strbuf *out)
{
	struct api_condition condition = condition_of(report, newer ? claim->generation : 0);
	strbuf_adds(out, "\"conditions\":[");
	api_condition_write(out, &condition, claim->now_ns);
	if (!newer && report->address == NULL)
		strbuf_adds(out, ",\"severity\":\"Warning\"");
	strbuf_adds(out, "}]");
}

void ipam_claim_report_add(const struct ipam_claim_report *report,
			   const struct ipam_claim_version *claim, struct strbuf *out)
{
	const bool newer = is_v1beta2(claim);
	strbuf_addc(out, '{');
	add_condition(report, claim, newer, out);
	strbuf_adds(out, newer ? ",\"deprecated\":{\"v1beta1\":{" : ",\"v1beta2\":{");
	add_condition(report, claim, !newer, out);
	strbuf_adds(out, newer ? "}}" : "}");
	if (report->address != NULL) {
		strbuf_adds(out, ",\"addressRef\":{");
		api_json_add_member(out, "name", report->address);
		strbuf_addc(out, '}');
	}
	strbuf_addc(out, '}');
}
