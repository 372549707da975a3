/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A Service or an Ingress as a source of DNSRecords: the names that it asks for by external-dns's
 * annotations, and what they should lead to. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/tree.h"
#include "api/view.h"
#include "base/arena.h"
#include "controller/dnssource/problems.h"

struct dnssource_source {
	const json_t *object;
	struct api_strings hosts;      /* of the annotation: lower case, without the final dot */
	struct api_strings rule_hosts; /* of rules and TLS of an Ingress, likewise */
	struct api_strings ipv4, ipv6, names; /* targets */
	int64_t ttl_s;			      /* -1: not said */
};

/* Everything is borrowed from the object and the (growing) arena. */
void dnssource_read(const json_t *object, struct arena *arena, struct dnssource_source *ret,
		    struct dnssource_problems *problems);
