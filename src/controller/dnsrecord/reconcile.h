/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pass over one DNSRecord, by its key "namespace/name". */
#pragma once

struct controller_ctx;

int dnsrecord_reconcile(struct controller_ctx *ctx, const char *key);
