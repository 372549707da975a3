/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long a change of endpoints took from its cause to our answers. */
#pragma once

#include "plugin/kubernetes/conf.h"

/* Counts how long a change that was just put into the index was under way. */
void kubernetes_programming_latency_observe(struct kubernetes_index *index,
					    const struct kube_slice *slice);
