/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An account: the provider's own, its zones, its rate, and what is under way. */
#pragma once

#include <stdint.h>

#include "base/map.h"
#include "net/loop.h"
#include "provider/account_turn_priv.h"
#include "provider/finder_priv.h"
#include "provider/name_line_priv.h"
#include "provider/provider.h"
#include "provider/publisher.h"
#include "provider/rate_priv.h"

struct provider_metrics;
struct provider_secrets;
struct publisher_batch;
struct publisher_zone;
struct zone_serial_call;

struct publisher_account {
	struct publisher *publisher;
	struct loop *loop;
	char *key; /* in the publisher's map */
	const struct provider *provider;
	struct provider_account *provider_account;
	struct provider_secrets *secrets;
	struct provider_metrics *metrics;
	unsigned refs; /* of callers and entries */
	struct provider_rate rate;
	enum provider_code
		fault_code; /* of the last call, if it was a passing fault; else PROVIDER_OK */
	char fault[PROVIDER_ERROR_BYTES];
	struct account_turn *turns[PUBLISHER_PRIORITIES]; /* first in, first out */
	struct account_turn *last_turns[PUBLISHER_PRIORITIES];
	struct loop_timer pump, idle;
	struct map zones; /* by id: struct publisher_zone */
	struct publisher_batch *batches;
	struct zone_serial_call *serials; /* questions for serials under way */
	struct finder finder;
	struct name_lines lines;
	struct entry_list blocked; /* not the first in their lines */
};

/* Without references. ERR_CONFIG. */
MUST_CHECK int account_open(struct publisher *publisher, const struct publisher_account_conf *conf,
			    const char *key, struct publisher_account **ret, struct err_text err);
/* Cancels its calls. Entries are freed, and their requests left alone. */
void account_close(struct publisher_account *account);

/* The queue of a zone; made when there is none. */
struct publisher_zone *account_zone(struct publisher_account *account, const char *zone_id);
/* Fails all that was not sent: the credentials are refused. */
void account_fail_unsent(struct publisher_account *account, enum provider_code code,
			 const char *error);
