/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One batch of jobs as a transaction. The writer's thread. */
#pragma once

#include <stddef.h>

#include "apiserver/store/store.h"
#include "apiserver/store/writer_priv.h"

/* Writes the sets of the batch, publishes their events and sets each job's result. */
void store_transaction_commit(struct apiserver_store *store, struct store_job *batch);
/* Bytes of the values that a job writes. */
size_t store_transaction_job_bytes(const struct store_job *job);
