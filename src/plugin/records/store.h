/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the `records` stanzas of a process share, and what outlives a reload: the records and the watch of
 * DNSRecord objects that feeds them. While the API is away the records stay as they are. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "plugin/records/table.h"

struct resource;

/* Stanzas with equal ones share a store. Borrowed. */
struct records_store_conf {
	/* Where the API is: NULL, NULL for the pod's own cluster. */
	const char *kubeconfig, *context;
	const char *endpoint, *cert, *key, *ca;
	const char *ns; /* NULL: all namespaces */
	size_t max;	/* objects that are served */
};

/* Held until resource_put. Errors have a text. Control threads. */
MUST_CHECK int records_store_get(const struct records_store_conf *conf, struct resource **ret,
				 struct err_text reterr);
const struct records_table *records_store_table(const struct resource *held);
/* Has the first list been read, or is there none to read (no such kind, no permission), or was it waited
 * for long enough? Any thread. */
bool records_store_is_ready(const struct resource *held);
