/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Publishes the search lists of a namespace for DNS servers. */
#pragma once

#include "base/compiler.h"

struct controller_ctx;
struct poddns_view;

/* Writes the annotation of the view's Namespace, which must be there, unless it is as it should be, and
 * reports pods whose list is not in it. ctx->again_ns is set while a list waits for its end. Closes
 * the view: requests take their time. 0, or a negative code with ctx->err. */
MUST_CHECK int poddns_publish_lists(struct controller_ctx *ctx, struct poddns_view *view);
/* The Namespace is gone. */
void poddns_forget_lists(struct controller_ctx *ctx, const char *ns);
/* Reconciles a key PODDNS_KEY_LISTED: the pod's report is forgotten with the pod. */
void poddns_forget_listed_pod(struct controller_ctx *ctx, const char *key);
