/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the parts of the publisher ask of it. */
#pragma once

#include <stdint.h>

#include "provider/publisher.h"

struct publisher_entry;

uint64_t publisher_lease_end_by(const struct publisher *publisher); /* UINT64_MAX: no lease */
struct loop *publisher_loop(const struct publisher *publisher);
struct lookup_client *publisher_lookups(const struct publisher *publisher);
/* The entry is in no list and no batch: its request gets the result, later; it may be gone when this
 * returns. `error` is copied; NULL with PROVIDER_OK. */
void publisher_finish(struct publisher_entry *entry, enum provider_code code, const char *error);
/* The publisher ends: the entry is freed, and its request left alone. It is in no list. */
void publisher_forget(struct publisher_entry *entry);
/* The account has had no references for PUBLISHER_IDLE_S. */
void publisher_drop_account(struct publisher *publisher, struct publisher_account *account);
