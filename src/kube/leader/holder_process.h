/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which process holds a Lease, so that another one on the same machine sees at once that it was
 * killed, and need not wait until the Lease expires.
 *
 * The text names a process by machine boot, PID and time namespaces, PID and start time: what is named
 * so and does not run any more never acts again. About processes of other machines and containers nothing is
 * known, and their Leases expire. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"

/* The annotation of a Lease that has the text, behind its holder's identity and a space: other
 * programs that take the Lease over leave annotations as they are. */
#define LEASE_PROCESS_ANNOTATION "fairlead.dev/lease-process"

/* Of this process; NULL where /proc does not tell. The caller frees it. */
char *holder_process_self(void) MUST_CHECK;
/* Is it certain that the process has ended? False also for a text that is none. */
bool holder_process_has_ended(const char *text);
