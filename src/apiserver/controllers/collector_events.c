/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deletes expired Events. kube-apiserver stores them with a lease that each write renews; here the
 * times in the Event decide. */
#include "apiserver/controllers/collector_events.h"

#include <string.h>

#include "api/meta.h"
#include "api/time.h"
#include "api/tree.h"
#include "apiserver/store/key.h"
#include "apiserver/store/read.h"
#include "base/clock.h"

struct sweep {
	uint64_t before_ns;
	json_t *old; /* [namespace, name, uid, ...] */
};

static uint64_t time_of(const json_t *object, const char *path)
{
	const char *s = api_get_string(object, path);
	uint64_t t = 0;
	if (s[0] != '\0' && api_time_parse(s, &t) < 0)
		t = 0;
	return t;
}

static uint64_t last_written(const json_t *object)
{
	static const char *const paths[] = { "metadata.creationTimestamp", "lastTimestamp",
					     "eventTime", "series.lastObservedTime" };
	uint64_t last = 0;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		last = MAX(last, time_of(object, paths[i]));
	return last;
}

static int collect_expired(void *ctx, const struct apiserver_row *row)
{
	struct sweep *s = ctx;
	json_t *o = json_loadb(row->value.p, row->value.n, 0, NULL);
	if (o != NULL && last_written(o) < s->before_ns) {
		json_array_append_new(s->old, json_string(api_namespace(o)));
		json_array_append_new(s->old, json_string(api_name(o)));
		json_array_append_new(s->old, json_string(api_uid(o)));
	}
	json_decref(o);
	return 0;
}

static const char *text_at(const struct sweep *sweep, size_t index)
{
	return api_text(json_array_get(sweep->old, index));
}

void collector_sweep_events(struct apiserver_collector *collector)
{
	const struct apiserver_resource *events = apiserver_resource_find("", "v1", "events");
	CLEANUP(strbuf_done) struct strbuf prefix = STRBUF_INIT;
	uint64_t at, now = clock_wall_ns();
	struct sweep s = { .old = json_array() };
	s.before_ns = now - MIN(now, collector->api->conf.event_ttl_ns);
	apiserver_key(&prefix, events->kind, NULL, NULL);
	/* Errors are retried with the next sweep. */
	IGNORE(apiserver_store_list(collector->api->store,
				    &(struct apiserver_range){ .prefix = prefix.s },
				    collect_expired, &s, &at, NULL));
	for (size_t i = 0; i + 2 < json_array_size(s.old); i += 3)
		IGNORE(collector_delete(collector, events, text_at(&s, i), text_at(&s, i + 1),
					text_at(&s, i + 2), ""));
	json_decref(s.old);
}
