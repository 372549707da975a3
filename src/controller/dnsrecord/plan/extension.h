/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gardener's extensions that publish DNSRecords themselves, for types that there is a provider for here: rivals of
 * this controller. */
#pragma once

#include <stdint.h>

#include "api/tree.h"
#include "base/compiler.h"

struct dnsrecord_extension {
	const char *name; /* as the holder of its heartbeat */
	const char *type; /* of the DNSRecords that it publishes */
};

/* NULL: another extension. */
const struct dnsrecord_extension *dnsrecord_extension_find(const char *name);

/* How long a heartbeat counts after its last change. Whoever can write a Lease must not stop us for longer than that:
 * what it says is cut at a minute. */
uint64_t dnsrecord_extension_duration_ns(const json_t *heartbeat);

/* The classes of the DNSRecords that it publishes, by its Deployment, with commas between; "": none, since it was
 * scaled to 0, or was started without its controller for DNSRecords. Of a Deployment that could not be read
 * (NULL) it may be any. The caller frees it. */
char *dnsrecord_extension_classes(const json_t *deployment) MUST_CHECK;
