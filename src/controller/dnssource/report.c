/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Emits Events; remembers what was reported, so that a settled source has no new ones. */
#include "controller/dnssource/report.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "controller/dnssource/names.h"
#include "controller/dnssource/state.h"
#include "kube/events/events.h"

/* Is the text another one than at the last time? */
static bool is_news(struct dnssource_state *state, const char *key, const char *text)
{
	pthread_mutex_lock(&state->lock);
	const char *last = map_get(&state->reported, slice_of(key));
	bool news = strcmp(last != NULL ? last : "", text) != 0;
	if (text[0] == '\0')
		free(map_del(&state->reported, slice_of(key)));
	else if (news)
		free(map_set(&state->reported, slice_of(key), xstrdup(text)));
	pthread_mutex_unlock(&state->lock);
	return news;
}

void dnssource_report(const struct controller_ctx *ctx, const char *key, const json_t *object,
		      const struct dnssource_problems *problems)
{
	CLEANUP(strbuf_done) struct strbuf all = STRBUF_INIT;
	for (size_t i = 0; i < problems->n; i++)
		strbuf_addf(&all, "%s\n", problems->v[i].text);
	if (!is_news(ctx->state, key, all.s))
		return;
	for (size_t i = 0; i < problems->n; i++) {
		log_warn(DNSSOURCE_LOG_AREA, "%s: %s", key, problems->v[i].text);
		if (ctx->events != NULL)
			events_emit(ctx->events,
				    &(struct event){ .regarding = object,
						     .warning = true,
						     .reason = problems->v[i].reason,
						     .action = "Publish" },
				    "%s", problems->v[i].text);
	}
}

void dnssource_report_done(const struct controller_ctx *ctx, const json_t *object,
			   const char *reason, const json_t *record)
{
	if (ctx->events != NULL)
		events_emit(ctx->events,
			    &(struct event){
				    .regarding = object, .reason = reason, .action = "Publish" },
			    "DNSRecord '%s': %s %s", api_name(record),
			    api_get_string(record, "spec.name"),
			    api_get_string(record, "spec.recordType"));
}
