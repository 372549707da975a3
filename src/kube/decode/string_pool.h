/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strings that many objects share (namespaces, nodes, port names): each is stored once, with a count
 * of its holders. All calls are safe from any thread; a string lives as long as it has a holder. */
#pragma once

#include <stddef.h>

#include "base/slice.h"

struct kube_string_pool;

struct kube_string_pool *kube_string_pool_new(void);
/* Strings that are still held stay valid; the pool is freed with the last of them. */
void kube_string_pool_free(struct kube_string_pool *pool);

/* The string, terminated. Each call adds a holder, to be removed with kube_string_pool_drop. ""
 * needs no drop (but may have one). */
const char *kube_string_pool_get(struct kube_string_pool *pool, struct slice text);
void kube_string_pool_drop(const char *text);
