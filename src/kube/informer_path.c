/* The requests of a reflector. */
#include "base/strbuf.h"
#include "kube/informer_priv.h"

static void add_escaped(struct strbuf *out, const char *s)
{
	for (; *s != '\0'; s++) {
		if (ascii_isalpha(*s) || ascii_isdigit(*s) || (strchr("-._~", *s) != NULL))
			strbuf_addc(out, *s);
		else
			strbuf_addf(out, "%%%02X", (unsigned)(unsigned char)*s);
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

static void add_list(struct strbuf *out, const struct kube_plan *p, const char *next)
{
	if (!p->whole) {
		add_param(out, "limit", "");
		strbuf_addf(out, "%u", p->page);
	}
	if (next[0] != '\0') {
		add_param(out, "continue", next); /* has its version inside */
	} else if (p->rv[0] != '\0' && !p->fresh) {
		add_param(out, "resourceVersion", p->rv);
		add_param(out, "resourceVersionMatch", "NotOlderThan");
	}
}

void kube_informer_path(struct strbuf *out, const struct kube_informer_conf *c,
			const struct kube_plan *p, const char *next, unsigned watch_s)
{
	api_kind_path(out, c->kind, c->ns, NULL, NULL);
	add_param(out, "labelSelector", c->labels);
	add_param(out, "fieldSelector", c->fields);
	switch (p->step) {
	case KUBE_STEP_LIST:
		add_list(out, p, next);
		break;
	case KUBE_STEP_STREAM:
		add_watch(out, watch_s);
		add_param(out, "sendInitialEvents", "true");
		add_param(out, "resourceVersionMatch", "NotOlderThan");
		add_param(out, "resourceVersion", p->fresh ? "" : p->rv);
		break;
	case KUBE_STEP_WATCH:
		add_watch(out, watch_s);
		add_param(out, "resourceVersion", p->rv);
		break;
	}
}
