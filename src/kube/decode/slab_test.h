/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the tests of kube/decode/slab.h may ask. */
#pragma once

#include <stddef.h>

struct kube_slab;

/* Bytes that are mapped for the slab's objects. */
size_t kube_slab_mapped_bytes(struct kube_slab *slab);
