/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ConfigMaps that the operator writes and watches: the Corefile, the accepted configuration,
 * copies of CA bundles. They are read from the watch's copy, or from the API server while the copy
 * is older than our own last write (own_writes.h). One worker at a time. */
#pragma once

#include <stdbool.h>

#include "api/tree.h"
#include "base/compiler.h"

struct controller_ctx;

/* A new tree, NULL when the ConfigMap is missing; `watch` is the one that covers it. Negative with
 * ctx->err. */
MUST_CHECK int dnsoperator_configmap_read(struct controller_ctx *ctx, int watch, const char *ns,
					  const char *name, json_t **ret);
/* Applies it: 1, or 0 with ctx->again_ns when that was done too often. *ret (may be NULL) is what
 * the server made of it, NULL with 0. Negative with ctx->err. */
MUST_CHECK int dnsoperator_configmap_apply(struct controller_ctx *ctx, const json_t *wanted,
					   json_t **ret);
/* Does another writer keep changing it? `right`: the object is as wanted; the contest ends, or the
 * next pass comes when it may. */
bool dnsoperator_configmap_contested(struct controller_ctx *ctx, const json_t *wanted, bool right);
/* Deletes this version of it; one that is missing already is fine. */
MUST_CHECK int dnsoperator_configmap_delete(struct controller_ctx *ctx, const json_t *object);
