/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The API server's objects, kept in an index by informers. Stanzas that ask for the same share one
 * source, which outlives reloads. */
#pragma once

#include "plugin/kubernetes/conf.h"

/* Starts, or joins, the source of this configuration. */
MUST_CHECK int kubernetes_source_get(struct plugin_inst *self, struct prepare *prepare);
/* Queries of this configuration come from now on. */
void kubernetes_source_use(struct kubernetes_source *source);
void kubernetes_source_put(struct kubernetes_conf *conf);
/* All objects were read, from the API server or from a snapshot: a name that is not found does not
 * exist. */
bool kubernetes_source_usable(const struct kubernetes_source *source);
/* Waits until it has all, up to startup_timeout; logs that it waits. -EINTR: the program is to
 * end. */
MUST_CHECK int kubernetes_source_wait(struct kubernetes_source *source, int64_t timeout_ns);
