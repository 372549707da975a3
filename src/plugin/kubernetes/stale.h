/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serves the objects of a snapshot until the API server has sent its own, and writes snapshots of
 * those. */
#pragma once

#include "kube/informer/informer.h"
#include "plugin/kubernetes/objects/index.h"
#include "plugin/kubernetes/objects/snapshot.h"

struct kubernetes_stale;

struct kubernetes_stale_conf {
	const char *path; /* copied, as is the next */
	const char *source;
	uint64_t every_ns;
	struct kube_codec *codec[KUBERNETES_KINDS]; /* NULL: not wanted. Used while reading only */
	struct kube_handler handler[KUBERNETES_KINDS]; /* what fills the indexes */
};

/* Reads the file, if there is one, into the handlers. */
struct kubernetes_stale *kubernetes_stale_new(const struct kubernetes_stale_conf *conf);
/* The handler for the informer of the kind, instead of the one given above: it replaces what the
 * snapshot said, and takes out what is not there any more when the first list is complete. */
struct kube_handler kubernetes_stale_handler(struct kubernetes_stale *stale,
					     enum kubernetes_kind kind);
/* Begins to write snapshots of the informers' stores, once all of them are complete. */
void kubernetes_stale_start(struct kubernetes_stale *stale,
			    struct kube_informer *const informer[KUBERNETES_KINDS]);
/* The stanza is served: snapshots are written from now on. One that is only tried, by a reload that
 * fails, leaves the file to the stanza that goes on. */
void kubernetes_stale_use(struct kubernetes_stale *stale);
/* A last snapshot, if something changed; before the informers end. */
void kubernetes_stale_stop(struct kubernetes_stale *stale);
void kubernetes_stale_free(struct kubernetes_stale *stale);

/* Was there a snapshot to begin with? */
bool kubernetes_stale_read(const struct kubernetes_stale *stale);
/* Are names of it still served? Any thread. */
bool kubernetes_stale_serves(const struct kubernetes_stale *stale);
