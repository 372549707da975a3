/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events (events.k8s.io/v1) about objects: `kubectl describe` shows them. They are sent by a thread
 * with a connection of its own; callers never wait. Like Events are counted, not repeated, and too
 * many are dropped (kube/events/series.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "kube/events/series.h"

struct events;
struct kube_client;
struct kube_write_limit;

enum {
	EVENTS_WORD_MAX = 128, /* action, reason, reporter: the server's limits */
	EVENTS_NOTE_MAX = 1024,
};

struct events_conf {
	struct kube_client *client;
	struct kube_write_limit *writes; /* outlives it; NULL: no limit */
	const char *controller;		 /* "fairlead.dev/example" */
	const char *instance;		 /* which process, as the lease's identity */
};

MUST_CHECK int events_start(const struct events_conf *conf, struct events **ret,
			    struct err_text err);
/* Sends what is left, within two seconds; frees. NULL is fine. */
void events_stop(struct events *events);

struct event {
	const json_t *regarding; /* the object, with apiVersion, kind and metadata */
	const json_t *related;	 /* another one, or NULL */
	bool warning;
	const char *reason; /* "CopyCreated": machines read it */
	const char *action; /* "Create": what was done or failed */
};
/* Queues an Event; any thread, never waits for the server. Everything is copied. Dropped
 * when there are too many or after events_stop. */
void events_emit(struct events *events, const struct event *ev, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
