/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counters that have the listener as their only label (`x_total{server="dns://:53"}`). A series
 * comes into being with its first count, as in CoreDNS; each worker remembers those it has used. */
#pragma once

#include "base/metrics/metrics.h"
#include "server/query.h"

enum { SERVERCOUNT_SLOTS = 8 };

struct servercount {
	struct {
		const char *server; /* compared by address: lives as long as the generation */
		struct metrics_series *series;
	} v[SERVERCOUNT_SLOTS];
};

/* As a plugin's worker_init and worker_done, which need nothing else for their worker. */
int servercount_worker_init(struct plugin_inst *self, struct worker *worker);
void servercount_worker_done(struct plugin_inst *self, struct worker *worker);
void servercount_add(struct plugin_inst *self, const struct metrics_family *family,
		     struct query *q);
