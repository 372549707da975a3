/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order of DNSRecords that ask for the same name. */
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

bool dnsrecord_goes_first(const struct dnsrecord *other, const struct dnsrecord *mine)
{
	/* Creation times have one form and compare as texts. */
	int order = strcmp(api_get_string(other->object, "metadata.creationTimestamp"),
			   api_get_string(mine->object, "metadata.creationTimestamp"));
	if (is_migrated(other))
		return false;
	if (dnsrecord_holds_name(other, mine))
		return true;
	if (is_stuck(other))
		return false;
	return order < 0 ||
	       (order == 0 && strcmp(api_uid(other->object), api_uid(mine->object)) < 0);
}
