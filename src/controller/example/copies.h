/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The copy of one Namespace: made, repaired, removed. */
#pragma once

struct controller_ctx;

/* Reconciles a key that is the name of a Namespace. */
int example_reconcile_namespace(struct controller_ctx *ctx, const char *key);
