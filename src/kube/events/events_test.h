/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests read the object of an Event, and count those that were dropped. */
#pragma once

#include "kube/events/events.h"

void events_stats(struct events *events, struct series_stats *ret);
/* The object that is sent; the caller's. */
json_t *events_body(const char *controller, const char *instance, const struct event *ev,
		    const char *note, uint64_t wall_ns);
