/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rivals: extensions of Gardener that run in this cluster and publish DNSRecords of a type that is served here, too.
 * Two controllers must not own one object: while an extension renews its heartbeat, its objects are left to it. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "controller/dnsrecord/pass.h"

#define DNSRECORD_HEARTBEAT  "gardener-extension-heartbeat"
#define DNSRECORD_RIVALS_KEY "rivals" /* queued when a heartbeat changes */

struct dnsrecord_rivals;

struct dnsrecord_rivals *dnsrecord_rivals_new(void);
void dnsrecord_rivals_free(struct dnsrecord_rivals *rivals);

/* Is the object of the pass left to a rival? It gets another pass when that one has stopped. Any worker. */
bool dnsrecord_rivals_have(const struct dnsrecord_pass *pass);
/* The pass of DNSRECORD_RIVALS_KEY; as struct controller's reconcile. */
MUST_CHECK int dnsrecord_rivals_check(struct controller_ctx *ctx);
/* Lines for /readyz while rivals run. `state` is the controller's. Any thread. */
void dnsrecord_rivals_note(void *state, struct strbuf *out);
