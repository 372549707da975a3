/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares answers of DNS with record sets, and writes the condition. */
#include "controller/dnsrecord/plan/resolvable.h"

#include <string.h>

#include "api/condition.h"
#include "api/meta.h"
#include "api/tree_copy.h"
#include "base/compiler.h"

#define CONDITION "Resolvable"

enum { VALUES_SHOWN = 3, VALUE_BYTES = 100 };

static const struct {
	enum api_status status;
	const char *reason, *message;
} rows[] = {
	[DNSRECORD_NOT_ASKED] = { API_UNKNOWN, "NotAsked", "DNS is asked soon" },
	[DNSRECORD_RESOLVED] = { API_TRUE, "Resolved", "DNS answers with the record set" },
	[DNSRECORD_OTHER] = { API_FALSE, "OtherAnswer", "DNS answers otherwise" },
	[DNSRECORD_UNANSWERED] = { API_UNKNOWN, "NoAnswer", "DNS servers do not answer" },
	[DNSRECORD_UNREAD] = { API_UNKNOWN, "ProviderNotRead", "the provider cannot be asked" },
};

bool dnsrecord_is_resolved(const struct provider_rrset *wanted, const struct provider_rrset *found)
{
	if (wanted->n_values != found->n_values)
		return false;
	for (size_t i = 0; i < wanted->n_values; i++) {
		if (strcmp(wanted->values[i], found->values[i]) != 0)
			return false;
	}
	return true;
}

void dnsrecord_describe_answer(const struct provider_rrset *found, bool is_alias,
			       struct strbuf *out)
{
	strbuf_adds(out, "DNS answers ");
	if (found->n_values == 0)
		strbuf_adds(out, is_alias ? "with a CNAME" : "that there is no such record");
	for (size_t i = 0; i < MIN(found->n_values, (size_t)VALUES_SHOWN); i++) {
		strbuf_adds(out, i == 0 ? "with " : ", ");
		struct slice value = slice_of(found->values[i]);
		strbuf_add_quoted(out,
				  (struct slice){ value.p, MIN(value.n, (size_t)VALUE_BYTES) });
		strbuf_adds(out, value.n > VALUE_BYTES ? "..." : "");
	}
	if (found->n_values > VALUES_SHOWN)
		strbuf_addf(out, " and %zu more", found->n_values - VALUES_SHOWN);
}

bool dnsrecord_set_resolvable(json_t *conditions, enum dnsrecord_resolvable what,
			      const char *message, uint64_t now_wall_ns)
{
	return api_condition_set(
		conditions,
		&(struct api_condition){ .type = CONDITION,
					 .status = rows[what].status,
					 .reason = rows[what].reason,
					 .message = message != NULL ? message : rows[what].message,
					 .has_updated_time = true },
		now_wall_ns);
}

json_t *dnsrecord_resolvable_patch(const struct dnsrecord *record, enum dnsrecord_resolvable what,
				   const char *message, uint64_t now_wall_ns)
{
	const json_t *list = api_get(record->object, "status.conditions");
	json_t *conditions = json_is_array(list) ? api_tree_copy(list) : json_array();
	if (!dnsrecord_set_resolvable(conditions, what, message, now_wall_ns)) {
		json_decref(conditions);
		return NULL;
	}
	return json_pack("{s:{s:o}}", "status", "conditions", conditions);
}

bool dnsrecord_has_resolvable(const struct dnsrecord *record, enum dnsrecord_resolvable what,
			      const char *message)
{
	const json_t *found =
		api_condition_find(api_get(record->object, "status.conditions"), CONDITION);
	return found != NULL && strcmp(api_get_string(found, "reason"), rows[what].reason) == 0 &&
	       (message == NULL || strcmp(api_get_string(found, "message"), message) == 0);
}
