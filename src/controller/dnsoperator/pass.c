/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every step of a pass needs: watched objects, reads of the API server, Events, the error and
 * the time of the next pass. */
#include "controller/dnsoperator/pass.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/decode/tree.h"
#include "kube/events/events.h"

const struct controller_options *dnsoperator_options(const struct controller_ctx *ctx)
{
	static const struct controller_options none;
	return ctx->options != NULL ? ctx->options : &none;
}

const struct controller_machine *dnsoperator_machine(const struct controller_ctx *ctx)
{
	return dnsoperator_options(ctx)->machine;
}

void dnsoperator_requeue_after(struct controller_ctx *ctx, uint64_t ns)
{
	if (ctx->again_ns == 0 || ns < ctx->again_ns)
		ctx->again_ns = ns;
}

int dnsoperator_set_error(struct controller_ctx *ctx, int ret, const char *what,
			  const struct kube_status *st)
{
	snprintf(ctx->err, sizeof(ctx->err), "%s: %.400s", what,
		 st->message[0] != '\0' ? st->message : err_str(ret));
	return ret;
}

void dnsoperator_emit_event(const struct dnsoperator_pass *pass, bool warning, const char *reason,
			    const char *action, const char *text)
{
	CLEANUP(freep) char *line = xstrdup(text);
	for (char *p = line; (p = strchr(p, '\n')) != NULL;)
		*p = ' ';
	if (warning)
		log_warn(DNSOPERATOR_LOG_AREA, "%s: %s", reason, line);
	else
		log_info(DNSOPERATOR_LOG_AREA, "%s: %s", reason, line);
	if (pass->ctx->events == NULL || pass->dns == NULL)
		return;
	events_emit(pass->ctx->events,
		    &(struct event){ .regarding = kube_tree_of(pass->dns),
				     .warning = warning,
				     .reason = reason,
				     .action = action },
		    "%s", text);
}

/* ---- from the watches ---- */

static bool append_copy(void *ctx, struct kube_obj *obj)
{
	json_array_append_new(ctx, json_deep_copy(kube_tree_of(obj)));
	return true;
}

json_t *dnsoperator_watched_objects(const struct controller_ctx *ctx, int watch)
{
	json_t *list = json_array();
	kube_store_each(ctx->stores[watch], append_copy, list);
	return list;
}

json_t *dnsoperator_watched_object(const struct controller_ctx *ctx, int watch, const char *ns,
				   const char *name)
{
	struct kube_obj *o = kube_store_get(ctx->stores[watch], slice_of(ns), slice_of(name));
	json_t *v = o != NULL ? json_deep_copy(kube_tree_of(o)) : NULL;
	kube_obj_unref(o);
	return v;
}

json_t *dnsoperator_server_pods(const struct controller_ctx *ctx,
				enum dnsoperator_platform platform)
{
	return dnsoperator_watched_objects(ctx, platform == DNSOPERATOR_KUBERNETES
							? DNSOPERATOR_WATCH_PODS_KUBERNETES
							: DNSOPERATOR_WATCH_PODS_OPENSHIFT);
}

/* ---- from the server ---- */

int dnsoperator_get(struct controller_ctx *ctx, const char *path, const char *what, json_t **ret)
{
	struct kube_request q = { .method = "GET", .path = path };
	struct kube_status st = { 0 };
	int r = kube_call(ctx->conn, &q, ret, &st);
	if (r < 0)
		*ret = NULL;
	if (r == ERR_NOTFOUND)
		r = 0;
	else if (r < 0)
		r = dnsoperator_set_error(ctx, r, what, &st);
	kube_status_done(&st);
	return r < 0 ? r : 0;
}
