/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics of the plugin. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "plugin/egressfirewall/learnt.h"

/* What became of a sighting. */
enum egressfirewall_counter {
	EGRESSFIREWALL_COUNT_NEW,
	EGRESSFIREWALL_COUNT_EXTENDED,
	EGRESSFIREWALL_COUNT_KNOWN,
	EGRESSFIREWALL_COUNT_CLIENT_LIMIT,
	EGRESSFIREWALL_COUNT_NEVER,
	EGRESSFIREWALL_COUNT_ODD_NAME,
	EGRESSFIREWALL_COUNT_QUEUE_FULL,
};

/* Control threads. */
void egressfirewall_count_result(enum egressfirewall_counter counter, uint64_t number);
void egressfirewall_count_table(struct egressfirewall_learnt_counts counts, size_t rules);
/* The same as the first on a worker, by its slot. */
void egressfirewall_count_on(unsigned slot, enum egressfirewall_counter counter, uint64_t number);
/* Makes the series, so that workers find them. Before any of the above. */
void egressfirewall_count_init(void);
