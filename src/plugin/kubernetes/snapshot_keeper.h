/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Serves the objects of a snapshot until the API server has sent its own, and writes snapshots of
 * those. */
#pragma once

#include "kube/informer/informer.h"
#include "plugin/kubernetes/objects/index.h"
#include "plugin/kubernetes/objects/snapshot.h"

struct kubernetes_snapshot_keeper;

struct kubernetes_snapshot_keeper_conf {
	const char *path; /* copied, as is the next */
	const char *source;
	uint64_t every_ns;
	struct kube_codec *codec[KUBERNETES_KINDS]; /* NULL: not wanted. Used while reading only */
	struct kube_handler handler[KUBERNETES_KINDS]; /* what fills the indexes */
};

/* Reads the file, if there is one, into the handlers. */
struct kubernetes_snapshot_keeper *kubernetes_snapshot_keeper_new(
	const struct kubernetes_snapshot_keeper_conf *conf);
/* The handler for the informer of the kind, instead of the one given above: it replaces what the
 * snapshot said, and takes out what is not there any more when the first list is complete. */
struct kube_handler kubernetes_snapshot_keeper_handler(struct kubernetes_snapshot_keeper *keeper,
						       enum kubernetes_kind kind);
/* Begins to write snapshots of the informers' stores, once all of them are complete. */
void kubernetes_snapshot_keeper_start(struct kubernetes_snapshot_keeper *keeper,
				      struct kube_informer *const informer[KUBERNETES_KINDS]);
/* The stanza is served: snapshots are written from now on. One that is only tried, by a reload that
 * fails, leaves the file to the stanza that goes on. */
void kubernetes_snapshot_keeper_use(struct kubernetes_snapshot_keeper *keeper);
/* A last snapshot, if something changed; before the informers end. */
void kubernetes_snapshot_keeper_stop(struct kubernetes_snapshot_keeper *keeper);
void kubernetes_snapshot_keeper_free(struct kubernetes_snapshot_keeper *keeper);

/* Was there a snapshot to begin with? */
bool kubernetes_snapshot_keeper_was_read(const struct kubernetes_snapshot_keeper *keeper);
/* Are names of it still served? Any thread. */
bool kubernetes_snapshot_keeper_is_serving(const struct kubernetes_snapshot_keeper *keeper);
