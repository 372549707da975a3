/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The informers of one process. Controllers that watch the same objects (kind, namespace, selectors,
 * decoder) share one watch and one copy, which keeps the fields that any of them wants and has the
 * indexes of all of them.
 *
 * All watches are added first, then the informers are made of them and started. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "kube/informer/informer.h"

struct controller_watch;
struct informers;

/* One controller's part of an informer; filled by informers_create. */
struct informers_part {
	struct kube_informer *informer;
	/* Where the store has the indexes of this watch, in the watch's order. */
	uint8_t index_at[KUBE_STORE_INDEXES_MAX];
};

/* `client` and `memory` outlive it; `ns` is the program's own namespace, copied. Never NULL. */
struct informers *informers_new(struct kube_client *client, const char *ns,
				struct kube_server_memory *memory);
/* Stops all, too. When no handler's data is needed any more. NULL is fine. */
void informers_free(struct informers *informers);

/* The handler is copied, its context outlives the informers' end; `watch` and `part` are borrowed. */
void informers_add(struct informers *informers, const struct controller_watch *watch,
		   const struct kube_handler *handler, struct informers_part *part);
/* Makes the informers and fills all parts: handlers of one kind may read another's store. */
MUST_CHECK int informers_create(struct informers *informers, struct err_text err);
MUST_CHECK int informers_start(struct informers *informers, struct err_text err);
/* Ends all threads; no handler is called any more. Copies stay. */
void informers_stop(struct informers *informers);
