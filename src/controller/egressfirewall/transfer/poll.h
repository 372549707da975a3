/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Polls DNS servers for what they learnt, each every few seconds by IXFR, and passes it on to
 * egressfirewall_learn(). A server that does not answer, refuses the keys or sends something else is
 * asked less often, counted, and reported once in the log. */
#pragma once

#include "controller/controller.h"

struct egressfirewall_poll;

/* Never NULL. */
struct egressfirewall_poll *egressfirewall_poll_new(void);
void egressfirewall_poll_free(struct egressfirewall_poll *poll);

/* The keys and the list of servers; `name` is "". Comes again by itself. */
int egressfirewall_reconcile_servers(struct controller_ctx *ctx, const char *name);
/* One server, by its address and port. */
int egressfirewall_reconcile_server(struct controller_ctx *ctx, const char *address);
