/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The typed view of a DNSRecord (extensions.gardener.cloud): which JSON path fills which member of
 * struct api_dnsrecord, with its type, range and default. api/view.c reads the table. */
#include "api/dnsrecord.h"

static const char *const record_types[] = {
	[API_RECORD_A] = "A",
	[API_RECORD_AAAA] = "AAAA",
	[API_RECORD_CNAME] = "CNAME",
	[API_RECORD_TXT] = "TXT",
	NULL,
};

#define AT(member) offsetof(struct api_dnsrecord_condition, member)
static const struct api_view_row condition_rows[] = {
	{ "type", API_VIEW_STRING, AT(type), .required = true },
	{ "status", API_VIEW_STRING, AT(status), .required = true },
	{ "reason", API_VIEW_STRING, AT(reason), .required = false },
	{ "message", API_VIEW_STRING, AT(message), .required = false },
};
static const struct api_view condition_view = { condition_rows, ARRAY_LEN(condition_rows),
						sizeof(struct api_dnsrecord_condition) };
#undef AT

#define AT(member) offsetof(struct api_dnsrecord, member)
static const struct api_view_row rows[] = {
	{ "spec.type", API_VIEW_STRING, AT(type), .required = true },
	{ "spec.class", API_VIEW_STRING, AT(class), .required = false },
	{ "spec.secretRef.name", API_VIEW_STRING, AT(secret_name), .required = true },
	{ "spec.secretRef.namespace", API_VIEW_STRING, AT(secret_namespace), .required = false },
	{ "spec.region", API_VIEW_STRING, AT(region), .required = false },
	{ "spec.zone", API_VIEW_STRING, AT(zone), .required = false },
	{ "spec.name", API_VIEW_STRING, AT(name), .required = true },
	{ "spec.recordType", API_VIEW_WORD, AT(record_type), .required = true,
	  .words = record_types },
	{ "spec.values", API_VIEW_STRINGS, AT(values), .required = true, .min = 1 },
	{ "spec.ttl", API_VIEW_INT, AT(ttl_s), .max = INT32_MAX, .def = API_DNSRECORD_TTL_S },
	{ "spec.providerConfig", API_VIEW_TREE, AT(provider_config), .required = false },
	{ "status.zone", API_VIEW_STRING, AT(status_zone), .required = false },
	{ "status.lastOperation.type", API_VIEW_STRING, AT(operation_type), .required = false },
	{ "status.lastOperation.state", API_VIEW_STRING, AT(operation_state), .required = false },
	{ "status.observedGeneration", API_VIEW_INT, AT(observed_generation), .required = false },
	{ "status.conditions", API_VIEW_STRUCTS, AT(conditions), .sub = &condition_view },
};
const struct api_view api_dnsrecord_view = { rows, ARRAY_LEN(rows), sizeof(struct api_dnsrecord) };
