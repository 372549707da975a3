/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers and conditions of a pool's status. */
#include "controller/ipam/report/pool_status.h"

#include <string.h>

#include "api/condition.h"
#include "api/meta.h"

static json_t *member_at(json_t *object, const char *key, json_t *(*make)(void))
{
	json_t *member = json_object_get(object, key);
	if (member != NULL)
		return member;
	member = make();
	json_object_set_new(object, key, member);
	return member;
}

static bool set_number(json_t *numbers, const char *key, int64_t number)
{
	const json_t *now = json_object_get(numbers, key);
	if (json_is_integer(now) && json_integer_value(now) == number)
		return false;
	json_object_set_new(numbers, key, json_integer(number));
	return true;
}

/* PR-8, with `free` as users read it. */
static bool set_numbers(json_t *status, const struct ipam_pool_report *report)
{
	json_t *numbers = member_at(status, "ipAddresses", json_object);
	int64_t in_range = report->use.used - report->use.out_of_range;
	bool changed = set_number(numbers, "total", report->total);
	changed |= set_number(numbers, "used", report->use.used);
	changed |= set_number(numbers, "outOfRange", report->use.out_of_range);
	changed |= set_number(numbers, "free",
			      MAX(report->total - in_range - report->use.foreign, (int64_t)0));
	return changed;
}

/* False: the condition is left as it was. */
static bool is_known(const struct ipam_pool_report *report, const char *type)
{
	if (strcmp(type, "OutOfRange") == 0 || strcmp(type, "ForeignAddresses") == 0)
		return report->error == NULL; /* an invalid spec has no range */
	if (strcmp(type, "FieldPruned") == 0)
		return report->pruning != IPAM_PRUNING_UNKNOWN;
	return true;
}

bool ipam_set_pool_status(json_t *pool, const struct ipam_pool_report *report, uint64_t now_ns)
{
	json_t *status = member_at(pool, "status", json_object);
	int64_t generation = api_generation(pool);
	bool pruned = report->pruning == IPAM_FIELD_PRUNED;
	CLEANUP(strbuf_done) struct strbuf cut = STRBUF_INIT;
	if (report->cut != NULL)
		strbuf_addf(&cut,
			    "guests hold 3 servers, 6 search domains and 256 characters of them; "
			    "machines do not get: %s",
			    report->cut);
	const char *problem = report->error != NULL ? report->error : report->empty;
	const struct api_condition rows[] = {
		{ .type = "Ready",
		  .status = problem == NULL ? API_TRUE : API_FALSE,
		  .reason = problem == NULL	    ? "Valid"
			    : report->error != NULL ? "InvalidSpec"
						    : "NoUsableAddress",
		  .message = problem == NULL ? "" : problem,
		  .generation = generation },
		{ .type = "Overlapping",
		  .status = report->overlap != NULL ? API_TRUE : API_FALSE,
		  .reason = report->overlap != NULL ? "SharedAddresses" : "NoSharedAddresses",
		  .message = report->overlap != NULL ? report->overlap : "",
		  .generation = generation },
		{ .type = "OutOfRange",
		  .status = report->stranded != NULL ? API_TRUE : API_FALSE,
		  .reason = report->stranded != NULL ? "AddressesOutOfRange" : "AllInRange",
		  .message = report->stranded != NULL ? report->stranded : "",
		  .generation = generation },
		{ .type = "ForeignAddresses",
		  .status = report->foreign != NULL ? API_TRUE : API_FALSE,
		  .reason = report->foreign != NULL ? "InUseByOtherProviders" : "NoneInUse",
		  .message = report->foreign != NULL ? report->foreign : "",
		  .generation = generation },
		{ .type = "NameserversCut",
		  .status = report->cut != NULL ? API_TRUE : API_FALSE,
		  .reason = report->cut != NULL ? "GuestLimits" : "AllFit",
		  .message = cut.n != 0 ? cut.s : "",
		  .generation = generation },
		{ .type = "DefaultNameserversInvalid",
		  .status = report->bad_default != NULL ? API_TRUE : API_FALSE,
		  .reason = report->bad_default != NULL ? "InvalidConfigMap" : "Valid",
		  .message = report->bad_default != NULL ? report->bad_default : "",
		  .generation = generation },
		{ .type = "FieldPruned",
		  .status = pruned ? API_TRUE : API_FALSE,
		  .reason = pruned ? "NameserversDropped" : "FieldsKept",
		  .message = pruned ? "the CRD of IPAddress drops spec.nameservers: the annotation "
				      "ipam.fairlead.dev/nameservers carries them"
				    : "",
		  .generation = generation },
	};
	bool changed = set_numbers(status, report);
	if (report->no_conditions)
		return changed;
	json_t *conditions = member_at(status, "conditions", json_array);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (is_known(report, rows[i].type))
			changed |= api_condition_set(conditions, &rows[i], now_ns);
	}
	return changed;
}
