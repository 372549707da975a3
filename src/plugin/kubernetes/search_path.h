/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Search paths of pods. For `autopath @kubernetes` those of the namespace in which the client's
 * address is a pod's. An address from which no namespace follows has none, and the client walks its
 * path itself, as without autopath: that of a node (pods of the host's network share it with each
 * other and with everything that runs there), and one that pods of several namespaces have at the
 * same time, as when it is used again before the old pod is gone. For searchpath those of a
 * list. */
#pragma once

#include "plugin/kubernetes/conf.h"

void kubernetes_host_search_read(struct kubernetes_conf *conf, const char *path);
void kubernetes_host_search_free(struct kubernetes_conf *conf);
int kubernetes_search_for_client(struct plugin_inst *self, struct query *q, const uint8_t **out,
				 size_t max);
int kubernetes_search_by_id(struct plugin_inst *self, struct query *q, struct slice id,
			    const uint8_t **out, size_t max);
/* Sets the search lists of a Namespace (a kube_tree): `old` is NULL for one that is new, `now` for one
 * that is gone. */
void kubernetes_set_search_lists(struct kubernetes_index *index, const struct kube_obj *old,
				 const struct kube_obj *now);
