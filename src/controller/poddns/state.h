/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the controller keeps between two calls; made by `start`, freed by `stop`. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "base/map.h"
#include "controller/poddns/entries_cache.h"
#include "controller/shared/corefile_domain.h"

/* What was read from the cluster's Corefile, for one version of it. */
struct poddns_corefile {
	char version[PODDNS_VERSION_MAX];
	char domain[COREFILE_DOMAIN_MAX];   /* that it names; "": none */
	char searched[COREFILE_DOMAIN_MAX]; /* the domain that is_searched is about */
	bool is_searched;		    /* by the plugin searchpath */
};

struct poddns_state {
	struct poddns_entries_cache entries;

	pthread_mutex_t corefiles_lock; /* guards these: each hook reads them, few parse them */
	struct poddns_corefile corefile_kubernetes, corefile_openshift;

	pthread_mutex_t reported_lock; /* guards what follows */
	struct map reported;	       /* by key of the queue: the text last reported; owned */
	struct map pod_events;	       /* by namespace and kind: how many Events; owned */
	struct map seen_namespaces;    /* whose running pods were checked once; as a set */
	struct map list_memory;	       /* by namespace: struct poddns_list_memory; owned */
};
