/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Remembers what was reported, and emits Events. */
#include "controller/poddns/report.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/controller.h"
#include "controller/poddns/names.h"
#include "controller/poddns/state.h"
#include "kube/events/events.h"

enum {
	POD_EVENTS_MAX = 10,	/* of one namespace, kind and hour, by one process */
	NAMESPACES_MAX = 10000, /* that are remembered for it */
};

#define HOUR_NS (3600 * NS_PER_S)

/* Events of a namespace and kind. */
struct poddns_count {
	uint32_t hour; /* the hours before it count no more */
	uint32_t events;
};

bool poddns_is_news(struct poddns_state *state, const char *key, const char *text)
{
	pthread_mutex_lock(&state->reported_lock);
	const char *last = map_get(&state->reported, slice_of(key));
	bool news = text[0] != '\0' && (last == NULL || strcmp(last, text) != 0);
	if (text[0] == '\0')
		free(map_del(&state->reported, slice_of(key)));
	else if (news)
		free(map_set(&state->reported, slice_of(key), xstrdup(text)));
	pthread_mutex_unlock(&state->reported_lock);
	return news;
}

bool poddns_count_event(struct poddns_state *state, const char *key, uint64_t now_ns)
{
	const struct poddns_count now = { .hour = (uint32_t)(now_ns / HOUR_NS) };
	pthread_mutex_lock(&state->reported_lock);
	struct poddns_count *count = map_get(&state->pod_events, slice_of(key));
	bool more = count != NULL || state->pod_events.n < NAMESPACES_MAX;
	if (count == NULL && more) {
		count = xmemdup(&now, sizeof(now));
		map_set(&state->pod_events, slice_of(key), count);
	}
	if (more && count->hour != now.hour)
		*count = now;
	more = more && count->events < POD_EVENTS_MAX;
	if (more)
		count->events++;
	pthread_mutex_unlock(&state->reported_lock);
	return more;
}

void poddns_forget_events(struct poddns_state *state, const char *key)
{
	pthread_mutex_lock(&state->reported_lock);
	free(map_del(&state->pod_events, slice_of(key)));
	pthread_mutex_unlock(&state->reported_lock);
}

void poddns_emit_warning(const struct controller_ctx *ctx, const json_t *regarding,
			 const char *reason, const char *action, const char *text)
{
	log_warn(PODDNS_LOG_AREA, "%s: %s %s%s%s: %s", reason, api_kind(regarding),
		 api_namespace(regarding), api_namespace(regarding)[0] != '\0' ? "/" : "",
		 api_name(regarding), text);
	if (ctx->events != NULL)
		events_emit(ctx->events,
			    &(struct event){ .regarding = regarding,
					     .warning = true,
					     .reason = reason,
					     .action = action },
			    "%s", text);
}
