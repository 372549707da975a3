/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of `dnssource` share: the order of its watches, keys, its state. */
#pragma once

#include <pthread.h>

#include "base/map.h"
#include "controller/controller.h"
#include "controller/shared/own_writes.h"

enum {
	DNSSOURCE_SERVICES,
	DNSSOURCE_INGRESSES,
	DNSSOURCE_RECORDS, /* those with our label */
	DNSSOURCE_CONFIGS,
	DNSSOURCE_WATCHES
};

/* The key of the ConfigMap; those of sources are "Service/NAMESPACE/NAME", "Ingress/NAMESPACE/NAME". */
#define DNSSOURCE_CONFIG_KEY "config"

enum { DNSSOURCE_BY_OWNER }; /* index of the records: the key of their source */

enum { DNSSOURCE_KEY_MAX = 600 };

struct dnssource_state {
	pthread_mutex_t lock;	  /* guards the rest */
	struct own_writes writes; /* of DNSRecords */
	struct map reported;	  /* key -> problems that the last Events were about */
};
