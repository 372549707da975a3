/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events: one change of an object each, with its key, its new value and the value before in one
 * allocation. The ring and all watches that deliver the event share it by reference. */
#include "apiserver/store/event_priv.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver/store/watch.h"
#include "base/mem.h"

struct store_event *store_event_new(const struct store_event_parts *parts)
{
	char number[24] = "";
	size_t number_n = 0;
	if (!parts->whole)
		number_n = (size_t)snprintf(number, sizeof(number), "%" PRIu64, parts->revision);
	size_t key_n = strlen(parts->key) + 1;
	size_t value_n = parts->head.n + number_n + parts->tail.n;
	size_t bytes = sizeof(struct store_event) + key_n + value_n + parts->before.n;
	struct store_event *event = xmalloc(bytes);
	char *at = (char *)(event + 1);
	*event = (struct store_event){ .bytes = bytes, .created = parts->created };
	atomic_init(&event->refs, 1);
	event->change = (struct apiserver_event){ .revision = parts->revision,
						  .replaced = parts->replaced,
						  .removed = parts->removed };
	event->change.key = memcpy(at, parts->key, key_n);
	at += key_n;
	event->change.value = (struct slice){ at, value_n };
	at = mempcpy(at, parts->head.n > 0 ? parts->head.p : "", parts->head.n);
	at = mempcpy(at, number, number_n);
	if (parts->optional.n > 0)
		event->change.optional = (struct slice){ at + (parts->optional.p - parts->tail.p),
							 parts->optional.n };
	at = mempcpy(at, parts->tail.n > 0 ? parts->tail.p : "", parts->tail.n);
	event->change.before = (struct slice){ at, parts->before.n };
	at = mempcpy(at, parts->before.n > 0 ? parts->before.p : "", parts->before.n);
	assert(at == (char *)event + bytes);
	return event;
}

struct store_event *store_event_ref(struct store_event *event)
{
	unsigned refs = atomic_fetch_add_explicit(&event->refs, 1, memory_order_relaxed);
	assert(refs > 0);
	return event;
}

void store_event_unref(struct store_event *event)
{
	if (event == NULL)
		return;
	unsigned refs = atomic_fetch_sub_explicit(&event->refs, 1, memory_order_acq_rel);
	assert(refs > 0);
	if (refs == 1)
		free(event);
}

void store_event_unref_list(struct store_event *list)
{
	while (list != NULL) {
		struct store_event *event = list;
		list = event->next;
		store_event_unref(event);
	}
}
