/* How long ago the API server was heard of, as a metric: names may be as old as that. */
#pragma once

#include "kube/informer/informer.h"
#include "plugin/kubernetes/snapshot.h"

struct kubernetes_heard;

/* `host` is copied; the informers (NULL: not asked for) outlive it. Any thread. */
struct kubernetes_heard *kubernetes_heard_new(const char *host,
					      struct kube_informer *const v[KUBERNETES_KINDS]);
/* NULL is fine. */
void kubernetes_heard_free(struct kubernetes_heard *heard);
