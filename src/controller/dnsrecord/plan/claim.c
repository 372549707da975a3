/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order of DNSRecords that ask for the same name, and which of them have it. */
#include "controller/dnsrecord/plan/claim.h"

#include <string.h>

#include "api/meta.h"

bool dnsrecord_holds_name(const struct dnsrecord *record, const struct dnsrecord *mine)
{
	return record->applied != NULL &&
	       strcmp(record->applied->set.name, mine->wanted.set.name) == 0;
}

static bool is_migrated(const struct dnsrecord *record)
{
	return strcmp(record->spec.operation_type, "Migrate") == 0 &&
	       strcmp(record->spec.operation_state, "Succeeded") == 0;
}

/* One that waits for a name gets it as soon as that is free. */
static bool waits_for_name(const struct dnsrecord *record)
{
	const struct api_dnsrecord_condition *conditions = record->spec.conditions.v;
	for (size_t i = 0; i < record->spec.conditions.n; i++) {
		if (strcmp(conditions[i].type, "Owned") == 0)
			return strcmp(conditions[i].reason, "NameTaken") == 0;
	}
	return false;
}

/* Somebody has to change the spec or the provider first. */
static bool is_stuck(const struct dnsrecord *record)
{
	const char *code = api_get_string(record->object, "status.lastError.codes[0]");
	bool is_refused = strcmp(record->spec.operation_state, "Error") == 0 &&
			  strcmp(code, "ERR_CONFIGURATION_PROBLEM") == 0 &&
			  record->attempt == NULL && !waits_for_name(record);
	return record->problem != NULL || is_refused;
}

/* Creation times have one form and compare as texts. */
static bool is_older(const struct dnsrecord *left, const struct dnsrecord *right)
{
	int order = strcmp(api_get_string(left->object, "metadata.creationTimestamp"),
			   api_get_string(right->object, "metadata.creationTimestamp"));
	return order < 0 ||
	       (order == 0 && strcmp(api_uid(left->object), api_uid(right->object)) < 0);
}

bool dnsrecord_goes_first(const struct dnsrecord *other, const struct dnsrecord *mine)
{
	if (is_migrated(other))
		return false;
	if (dnsrecord_holds_name(other, mine))
		return true;
	return !is_stuck(other) && is_older(other, mine);
}

/* ---- several ---- */

/* The one that may be known. */
static const char *zone_of(const struct dnsrecord *record)
{
	const char *given = api_get_string(record->object, "spec.zone");
	return given[0] != '\0' ? given : api_get_string(record->object, "status.zone");
}

bool dnsrecord_collides(const struct dnsrecord *left, const struct dnsrecord *right)
{
	const char *left_type = api_get_string(left->object, "spec.recordType");
	const char *right_type = api_get_string(right->object, "spec.recordType");
	const char *left_zone = zone_of(left), *right_zone = zone_of(right);
	bool is_same_type = strcmp(left_type, right_type) == 0 || strcmp(left_type, "CNAME") == 0 ||
			    strcmp(right_type, "CNAME") == 0;
	bool is_other_zone =
		left_zone[0] != '\0' && right_zone[0] != '\0' && strcmp(left_zone, right_zone) != 0;
	return is_same_type && !is_other_zone;
}

static bool precedes(const struct dnsrecord *left, const struct dnsrecord *right,
		     const struct dnsrecord *mine)
{
	bool has_left = dnsrecord_holds_name(left, mine),
	     has_right = dnsrecord_holds_name(right, mine);
	return has_left != has_right ? has_left : is_older(left, right);
}

static void sort_claimants(const struct dnsrecord *mine, const struct dnsrecord **others,
			   size_t count)
{
	for (size_t i = 1; i < count; i++) {
		const struct dnsrecord *moved = others[i];
		size_t at = i;
		for (; at != 0 && precedes(moved, others[at - 1], mine); at--)
			others[at] = others[at - 1];
		others[at] = moved;
	}
}

const struct dnsrecord *dnsrecord_find_claimant(const struct dnsrecord *mine,
						const struct dnsrecord **others, size_t count)
{
	size_t n_having = 0;
	sort_claimants(mine, others, count);
	for (size_t i = 0; i < count; i++) {
		bool is_blocked = false;
		for (size_t j = 0; j < n_having; j++)
			is_blocked = is_blocked || dnsrecord_collides(others[i], others[j]);
		if (is_blocked && !dnsrecord_holds_name(others[i], mine))
			continue;
		if (dnsrecord_collides(others[i], mine))
			return others[i];
		/* Those that have the name come to the front; the others are not needed any more. */
		others[n_having++] = others[i];
	}
	return NULL;
}
