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

enum {
	EVENTS_WORD_MAX = 128, /* action, reason, reporter: the server's limits */
	EVENTS_NOTE_MAX = 1024,
};

/* `controller`: "fairlead.dev/example"; `instance`: which process, as the lease's identity. */
MUST_CHECK int events_start(struct kube_client *client, const char *controller,
			    const char *instance, struct events **ret, struct err_text err);
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
 * when there are too many (events_stats counts them) or after events_stop. */
void events_emit(struct events *events, const struct event *ev, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

void events_stats(struct events *events, struct series_stats *ret);

/* The object that is sent; for tests. */
json_t *events_body(const char *controller, const char *instance, const struct event *ev,
		    const char *note, uint64_t wall_ns);
