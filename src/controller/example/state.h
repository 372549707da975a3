/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of `example` share: names, the order of its watches, its state. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "controller/controller.h"
#include "controller/shared/own_writes.h"

#define EXAMPLE_LOG_AREA    "controller/example"
#define EXAMPLE_LABEL	    "example.fairlead.dev/copy"
#define EXAMPLE_MANAGED_BY  "app.kubernetes.io/managed-by"
#define EXAMPLE_MANAGER	    "fairlead-example"
#define EXAMPLE_SOURCE_NAME "fairlead-example"
#define EXAMPLE_COPY_NAME   "fairlead-example-copy"
/* The program that it would replace, if there were one: its Deployment and its Lease. */
#define EXAMPLE_RIVAL_NAME "fairlead-example-original"

/* The key of the source; all other keys are names of Namespaces, which have no slash. */
#define EXAMPLE_SOURCE_KEY "source/"

/* Its watches. */
enum { EXAMPLE_NAMESPACES, EXAMPLE_SOURCE, EXAMPLE_COPIES, EXAMPLE_RIVAL, EXAMPLE_WATCHES };

struct example_state {
	_Atomic bool rival_runs;
	pthread_mutex_t lock;	  /* guards the rest */
	struct own_writes writes; /* of copies (drift.h) */
	struct map addresses;	  /* of looked-up names (known_addresses.h) */
	struct map taken; /* Namespaces where another program has a ConfigMap of that name */
};
