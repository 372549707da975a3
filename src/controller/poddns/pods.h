/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports pods that were created without the policy of their namespace: the hook fails open. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"

struct controller_ctx;
struct poddns_view;

/* Whether the policy has fields that are written into pods. */
bool poddns_changes_pods(const struct poddns_view *view);
/* Reconciles a key PODDNS_KEY_POD: a pod that has not started. 0. */
int poddns_reconcile_pod(struct controller_ctx *ctx, const char *key);
/* Looks at the pods of the namespace that run, 500 at most, if this process has not seen
 * the namespace before and its policy changes pods: those that started while no process watched are
 * not reported otherwise. 0, or a negative code with ctx->err. */
MUST_CHECK int poddns_look_at_running(struct controller_ctx *ctx, const char *ns, bool changes);
/* The Namespace is gone. */
void poddns_forget_running(struct controller_ctx *ctx, const char *ns);
