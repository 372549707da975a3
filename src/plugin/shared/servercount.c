/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A counter labelled by the server (listener) and view of the query. */
#include "plugin/shared/servercount.h"

#include <stdlib.h>

#include "base/mem.h"

int servercount_worker_init(struct plugin_inst *self, struct worker *worker)
{
	self->worker_data[worker_slot(worker)] = xcalloc(1, sizeof(struct servercount));
	return 0;
}

void servercount_worker_done(struct plugin_inst *self, struct worker *worker)
{
	free(self->worker_data[worker_slot(worker)]);
}

void servercount_add(struct plugin_inst *self, const struct metrics_family *family, struct query *q)
{
	struct servercount *c = self->worker_data[query_slot(q)];
	const char *server = query_server_label(q);
	size_t at = (uintptr_t)server / 8 % SERVERCOUNT_SLOTS;
	if (UNLIKELY(c->v[at].server != server)) {
		c->v[at].series = metrics_get(family, (const char *const[]){ server });
		c->v[at].server = server;
	}
	metrics_add(c->v[at].series, query_slot(q), 1);
}
