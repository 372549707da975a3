/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests and benchmarks answer from objects of their own instead of those of an API server. */
#pragma once

#include "plugin/kubernetes/source.h"

struct kubernetes_preset {
	struct kubernetes_index *index, *imports;
	bool unsynced;
	struct kube_ip local; /* our only address, without `bind` */
};

/* Stanzas prepared from now on get their names from these indexes, which stay the caller's; no API
 * server is asked. NULL: from the API server again. */
void kubernetes_source_preset(const struct kubernetes_preset *kubernetes_preset);
