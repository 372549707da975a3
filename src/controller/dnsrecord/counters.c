/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts operations on DNSRecords. */
#include "controller/dnsrecord/counters.h"

#include "base/metrics/metrics.h"

static const struct metrics_family operations = {
	.name = "fairlead_dnsrecord_operations_total",
	.help = "Operations on DNSRecords that ended, by type and result: succeeded, failed, "
		"waiting (for a provider that is busy or cannot be reached).",
	.kind = METRICS_COUNTER,
	.labels = { "operation", "result" },
};

static const struct metrics_family probes = {
	.name = "fairlead_dnsrecord_probes_total",
	.help = "Lookups of published names, by result: match, mismatch, no_answer; drift: of "
		"those that did not match, records that the provider did not have any more.",
	.kind = METRICS_COUNTER,
	.labels = { "result" },
};

static const struct metrics_family serials = {
	.name = "fairlead_dnsrecord_serials_total",
	.help = "Serials of zones that were read, by result: same, own (changed by this process), "
		"changed (the record sets in the zone are compared), failed.",
	.kind = METRICS_COUNTER,
	.labels = { "result" },
};

static const struct metrics_family compared = {
	.name = "fairlead_dnsrecord_compared_total",
	.help = "Record sets that were compared because the serial of their zone had changed, by "
		"result: equal, drift, failed.",
	.kind = METRICS_COUNTER,
	.labels = { "result" },
};

static const struct metrics_family notifies = {
	.name = "fairlead_dnsrecord_notifies_total",
	.help = "NOTIFY messages that were answered, by result: accepted, unknown_zone, "
		"bad_signature, "
		"refused (malformed, or something else than a NOTIFY).",
	.kind = METRICS_COUNTER,
	.labels = { "result" },
};

void dnsrecord_count_notify(const char *result)
{
	metrics_add(metrics_get(&notifies, (const char *const[]){ result }), 0, 1);
}

void dnsrecord_count_serial(const char *result)
{
	metrics_add(metrics_get(&serials, (const char *const[]){ result }), 0, 1);
}

void dnsrecord_count_compared(const char *result)
{
	metrics_add(metrics_get(&compared, (const char *const[]){ result }), 0, 1);
}

void dnsrecord_count_probe(const char *result)
{
	metrics_add(metrics_get(&probes, (const char *const[]){ result }), 0, 1);
}

void dnsrecord_count_operation(const char *operation, const char *result)
{
	metrics_add(metrics_get(&operations, (const char *const[]){ operation, result }), 0, 1);
}
