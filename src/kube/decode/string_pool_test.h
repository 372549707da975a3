/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests count the strings of a pool, to find those that were not dropped. */
#pragma once

#include "kube/decode/string_pool.h"

size_t kube_string_pool_count(struct kube_string_pool *pool);
