/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work for an engine (controller/engine.h): record sets are brought to a DNS provider. All work of an
 * engine shares one publisher (provider/publisher.h), which makes batches of it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "controller/engine.h"
#include "controller/shared/record_account.h"
#include "provider/publisher.h"

struct lease;

struct record_work_conf {
	struct publisher_account_conf account; /* copied; secrets are wiped at the end */
	const char *zone;		       /* as those of struct publisher_request, copied */
	const struct provider_edit *edits;
	size_t n_edits;
	enum publisher_priority priority;
	bool maybe_applied, only_reads, checks_zone;
	uint64_t patience_ns;
	struct lease *lease; /* ctx->lease: no call outlives it */
};

struct record_work {
	struct engine_work work;
	struct publisher_request request; /* has the result */

	/* Its own: */
	struct provider_edit *edits;
	struct record_account account;
	char *zone;
};

/* Any thread. Its time (engine_work.timeout_ns) counts from its first call to the provider. */
struct record_work *record_work_new(const struct record_work_conf *conf);
static inline struct record_work *record_work_of(struct engine_work *work)
{
	return CONTAINER_OF(work, struct record_work, work);
}
