/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Admission on the embedded API: calls the hooks of the controllers that run in the same process, the
 * same functions that the web hooks' server calls in a cluster.
 *
 * The API starts before the controllers, which read from it. Until they have complete copies of what
 * they watch, their hooks are not called, as in a cluster, where the registrations of deploy/webhooks
 * have `failurePolicy: Ignore`: controllers check every object again before they act on it. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "apiserver/request/api_state.h"

struct admission_hook;
struct manager;

struct embedded_admission {
	struct apiserver_admission interface; /* for the API's configuration */
	/* Guards the members below: reviews read them and call hooks under it. */
	pthread_rwlock_t lock;
	struct manager *manager; /* NULL: no controllers */
	const struct admission_hook *hooks;
	size_t n_hooks;
	_Atomic bool is_synced; /* copies were complete once; written by reviews as well */
};

/* Without controllers. The API uses it from its start to its end; it needs no release. */
void embedded_admission_init(struct embedded_admission *admission);
/* From now on the hooks of the manager's controllers are called. NULL: there are none. */
void embedded_admission_attach(struct embedded_admission *admission, struct manager *manager);
/* Before the manager ends: when it returns no hook runs, and none is called any more. */
void embedded_admission_detach(struct embedded_admission *admission);
