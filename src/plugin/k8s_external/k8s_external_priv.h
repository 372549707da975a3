/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of k8s_external. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "plugin/shared/external.h"
#include "server/query.h"
#include "server/setup.h"

struct k8s_external_conf {
	struct zone_list zones;
	uint8_t *zone_labels;
	const uint8_t *
		*server; /* of each zone: ns1.APEX.ZONE; APEX.ZONE lies behind its first label */
	const char *apex;
	uint64_t ttl_s;
	bool headless;
	struct fallthrough fall;
	struct plugin_inst *from;	     /* kubernetes */
	const struct external_ops *services; /* of that */
};

/* Host names of load balancers that are looked up for one query, each for one or two types. */
enum { K8S_EXTERNAL_HOSTS_MAX = 8, K8S_EXTERNAL_TYPES = 2 };

struct k8s_external_state {
	size_t n_hosts;
	const uint8_t *host[K8S_EXTERNAL_HOSTS_MAX];
	/* NULL: not asked, or no answer */
	struct query *reply[K8S_EXTERNAL_HOSTS_MAX][K8S_EXTERNAL_TYPES];
	size_t at; /* host * K8S_EXTERNAL_TYPES + type */
};
