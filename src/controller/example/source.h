/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The source of all copies: its finalizer, which holds it until the copies are gone, and its status. A
 * ConfigMap has no status: conditions are in an annotation. */
#pragma once

#include <stdbool.h>

struct controller_ctx;
struct kube_obj;

#define EXAMPLE_FINALIZER	  "example.fairlead.dev/copies"
#define EXAMPLE_STATUS_ANNOTATION "example.fairlead.dev/status"

/* Reconciles the key EXAMPLE_SOURCE_KEY. */
int example_reconcile_source(struct controller_ctx *ctx);
/* May it be copied? It has the finalizer and is not being deleted. */
bool example_source_is_ready(const struct kube_obj *source);
/* Another program has a ConfigMap in the place of a copy, or has not any more. */
void example_source_note_taken(const struct controller_ctx *ctx, const char *ns, bool taken);
