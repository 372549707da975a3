/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of very many small objects that live long. Objects of one size lie side by side in pages of
 * their own: without a header each, and without the holes that short-lived memory between them would
 * leave. All calls are safe from any thread. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"

struct kube_slab;

/* Never NULL. */
struct kube_slab *kube_slab_new(void);
/* Memory that is still in use stays valid; the slab is freed with the last of it. NULL is fine. */
void kube_slab_free(struct kube_slab *slab);

/* So many bytes, aligned for pointers, not zeroed; never NULL. */
void *kube_slab_get(struct kube_slab *slab, size_t n) MUST_CHECK;
/* Ends the use of memory that kube_slab_get returned. */
void kube_slab_put(void *memory);
