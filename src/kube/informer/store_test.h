/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests count the objects of a store. */
#pragma once

#include "kube/informer/store.h"

size_t kube_store_count(struct kube_store *store);
