/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects by namespace and name, and by the keys of indexes. One thread writes (the reflector), any
 * may read.
 *
 * A relist marks what it sees and sweeps the rest: there is never a second copy. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "kube/decode/obj.h"

struct kube_store;

typedef void (*kube_index_emit)(void *ctx, struct slice key);
/* The keys an object is found by: any number, called with `emit` for each. */
typedef void (*kube_index_fn)(const struct kube_obj *obj, kube_index_emit emit, void *ctx);

enum { KUBE_STORE_INDEXES_MAX = 8 };

/* `indexes` is copied; at most KUBE_STORE_INDEXES_MAX (asserted). Never NULL. */
struct kube_store *kube_store_new(const kube_index_fn *indexes, size_t count);
/* When no other thread uses it. Releases the store's references to all objects. NULL is fine. */
void kube_store_free(struct kube_store *store);

/* ---- reading ---- */

/* A reference of the caller's, or NULL. */
struct kube_obj *kube_store_get(struct kube_store *store, struct slice ns, struct slice name);
/* Each object under the store's read lock: `fn` is quick, calls nothing of the store, may take
 * references and may stop with false. */
typedef bool (*kube_store_fn)(void *ctx, struct kube_obj *obj);
void kube_store_each(struct kube_store *store, kube_store_fn fn, void *ctx);
/* Those that index number `index` knows by the key. */
void kube_store_each_by(struct kube_store *store, size_t index, struct slice key, kube_store_fn fn,
			void *ctx);

/* ---- writing: one thread ---- */

enum kube_store_put {
	KUBE_STORE_SAME, /* the store has this version already, or the object is to be ignored */
	KUBE_STORE_ADDED,
	KUBE_STORE_UPDATED, /* *ret_old is the one before, a reference of the caller's */
};

/* Takes over the caller's reference. */
enum kube_store_put kube_store_put(struct kube_store *store, struct kube_obj *obj,
				   struct kube_obj **ret_old);
/* Removes an object and returns the store's reference to it, or NULL. */
struct kube_obj *kube_store_del(struct kube_store *store, struct slice ns, struct slice name);

/* A list begins: from now on everything that is put counts as seen. */
void kube_store_mark(struct kube_store *store);
/* The list is complete: removes and returns one object that was not put since kube_store_mark, or
 * NULL when there are no more. *pos starts at 0. */
struct kube_obj *kube_store_sweep(struct kube_store *store, size_t *pos);
