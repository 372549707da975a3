/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The triggers of a DNSRecord (DR-35 to DR-37), level-triggered: what an event would have started must
 * follow from the object, since a killed controller sees no event twice. */
#include "controller/dnsrecord/plan/decide.h"

#include <string.h>

#include "api/meta.h"
#include "controller/dnsrecord/plan/names.h"

static bool is_text(const char *left, const char *right)
{
	return strcmp(left, right) == 0;
}

bool dnsrecord_has_class(const struct dnsrecord *record, const char *classes)
{
	struct slice rest = slice_of(classes != NULL ? classes : "shoot");
	const char *class = record->spec.class[0] != '\0' ? record->spec.class : "shoot";
	while (rest.n != 0) {
		if (slice_is(slice_trim(slice_cut(&rest, ',')), class))
			return true;
	}
	return false;
}

/* DR-41, for what is neither deleted nor asked to migrate or to be restored. */
static const char *choose_operation(const struct dnsrecord *record)
{
	static const char *const kept[] = { "Create", "Restore" };
	const char *last = record->spec.operation_type;
	if (last[0] == '\0')
		return "Create";
	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		if (is_text(last, kept[i]) && !is_text(record->spec.operation_state, "Succeeded"))
			return kept[i];
	}
	return "Reconcile";
}

static struct dnsrecord_choice choose_publication(const struct dnsrecord *record, bool by_request)
{
	const char *state = record->spec.operation_state;
	bool is_asked = is_text(record->request, "reconcile");
	bool is_changed =
		!by_request && record->spec.observed_generation != api_generation(record->object);
	struct dnsrecord_choice choice = { .operation = choose_operation(record),
					   .is_new = is_asked || is_changed || state[0] == '\0' };
	if (is_text(record->request, "restore")) {
		choice.operation = "Restore";
		choice.is_new = !is_text(record->spec.operation_type, "Restore");
		choice.task = DNSRECORD_PUBLISH;
	} else if (choice.is_new || !is_text(state, "Succeeded")) {
		choice.task = DNSRECORD_PUBLISH;
	}
	return choice;
}

struct dnsrecord_choice dnsrecord_decide(const struct dnsrecord *record, bool by_request)
{
	const char *type = record->spec.operation_type, *state = record->spec.operation_state;
	bool is_migrated = is_text(type, "Migrate") && is_text(state, "Succeeded");
	bool is_migrating = is_text(type, "Migrate") && !is_migrated;
	struct dnsrecord_choice choice = { .task = DNSRECORD_NOTHING, .operation = "" };
	if (is_text(record->request, "wait-for-state"))
		return choice;
	if (is_text(record->request, "migrate") || is_migrating)
		return (struct dnsrecord_choice){ DNSRECORD_HAND_OVER, "Migrate", !is_migrating };
	if (api_is_deleting(record->object)) {
		if (api_has_finalizer(record->object, DNSRECORD_FINALIZER))
			choice = (struct dnsrecord_choice){ DNSRECORD_WITHDRAW, "Delete",
							    !is_text(type, "Delete") };
		return choice;
	}
	if (is_migrated && !is_text(record->request, "restore")) {
		if (is_text(record->request, "reconcile"))
			choice.task = DNSRECORD_CLEAR_REQUEST;
		return choice;
	}
	return choose_publication(record, by_request);
}
