/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds the paths and queries of a reflector's requests. */
#include "kube/informer/informer_path_priv.h"

#include <string.h>

static void add_escaped(struct strbuf *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (ascii_isalpha(*text) || ascii_isdigit(*text) || (strchr("-._~", *text) != NULL))
			strbuf_addc(out, *text);
		else
			strbuf_addf(out, "%%%02X", (unsigned)(unsigned char)*text);
	}
}

static void add_param(struct strbuf *out, const char *name, const char *value)
{
	if (value == NULL)
		return;
	strbuf_addc(out, strchr(out->s, '?') == NULL ? '?' : '&');
	strbuf_adds(out, name);
	strbuf_addc(out, '=');
	add_escaped(out, value);
}

static void add_watch(struct strbuf *out, unsigned watch_s)
{
	add_param(out, "watch", "true");
	add_param(out, "allowWatchBookmarks", "true");
	strbuf_addf(out, "&timeoutSeconds=%u", watch_s);
}

static void add_list(struct strbuf *out, const struct kube_reflector_plan *plan, const char *next)
{
	if (!plan->whole) {
		add_param(out, "limit", "");
		strbuf_addf(out, "%u", plan->page);
	}
	if (next[0] != '\0') {
		add_param(out, "continue", next); /* has its version inside */
	} else if (plan->rv[0] != '\0' && !plan->fresh) {
		add_param(out, "resourceVersion", plan->rv);
		add_param(out, "resourceVersionMatch", "NotOlderThan");
	}
}

void kube_informer_path(struct strbuf *out, const struct kube_informer_request *request)
{
	const struct kube_informer_conf *conf = request->conf;
	const struct kube_reflector_plan *plan = request->plan;
	api_kind_path(out, request->kind, conf->ns, NULL, NULL);
	add_param(out, "labelSelector", conf->labels);
	add_param(out, "fieldSelector", conf->fields);
	switch (plan->step) {
	case KUBE_STEP_LIST:
		add_list(out, plan, request->next);
		break;
	case KUBE_STEP_STREAM:
		add_watch(out, request->watch_s);
		add_param(out, "sendInitialEvents", "true");
		add_param(out, "resourceVersionMatch", "NotOlderThan");
		add_param(out, "resourceVersion", plan->fresh ? "" : plan->rv);
		break;
	case KUBE_STEP_WATCH:
		add_watch(out, request->watch_s);
		add_param(out, "resourceVersion", plan->rv);
		break;
	}
}
