/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One call to a provider: checks the lease, ends it in time, counts it, and reports the result to the account's rate
 * how it went. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "net/loop.h"
#include "provider/provider.h"

struct publisher_account;

struct publisher_call {
	struct provider_job job; /* the first part is the caller's to fill */
	struct publisher_account *account;
	void (*finished)(struct publisher_call *call); /* the job has its result */
	struct loop_timer timeout;
	uint64_t began_ns;
	bool is_running;
	bool is_refused; /* by us; the provider has not seen it */
};

/* `finished` is called later, never from inside. In the account's turn. */
void call_start(struct publisher_call *call);
void call_cancel(struct publisher_call *call); /* fine for one that does not run */
