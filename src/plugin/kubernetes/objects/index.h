/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kubernetes plugin answers from: Services with their EndpointSlices by name and by
 * address, namespaces, pods by address. Informers' threads write (one lock among them), workers
 * read under RCU. Each change replaces what it concerns in place; nothing is ever rebuilt.
 *
 * Glossary entry  one Service name of one namespace: the Service, if there is one, and its slices
 *
 * Objects are kube/decode/compact.h's own, held by reference: there is no second copy of their
 * data. An entry and what it points to stay valid until the read section ends. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/rcu/rcu.h"
#include "base/rcu/rcutable.h"
#include "base/slice.h"
#include "kube/decode/compact.h"

struct kubernetes_index;
struct kubernetes_search_lists;

struct kubernetes_entry {
	struct rcutable_node node;
	struct rcu_item rcu;
	uint32_t n_slices;
	uint8_t n_ns, n_name;		    /* lengths */
	const char *ns, *name;		    /* of one of the objects below */
	const struct kube_service *service; /* NULL: only slices exist */
	const struct kube_slice *slices[];  /* in the order of their names */
};

/* An endpoint found by its address. */
struct kubernetes_endpoint_ref {
	const struct kube_slice *slice;
	uint32_t at;
};

struct kubernetes_index *kubernetes_index_new(void);
/* When no worker can see it any more. */
void kubernetes_index_free(struct kubernetes_index *index);

/* ---- writing: any control thread ---- */

/* `old` and `now` as a handler of an informer gets them; one of them may be NULL (added, deleted).
 */
void kubernetes_index_service(struct kubernetes_index *index, struct kube_obj *old,
			      struct kube_obj *now);
void kubernetes_index_slice(struct kubernetes_index *index, struct kube_obj *old,
			    struct kube_obj *now);
void kubernetes_index_pod(struct kubernetes_index *index, struct kube_obj *old,
			  struct kube_obj *now);
void kubernetes_index_namespace(struct kubernetes_index *index, struct slice name, bool there);

/* ---- reading: under RCU ---- */

/* Names in lower case. NULL when there is neither a Service nor a slice of it. */
const struct kubernetes_entry *kubernetes_index_find(const struct kubernetes_index *index,
						     struct slice ns, struct slice name);
bool kubernetes_index_has_namespace(const struct kubernetes_index *index, struct slice name);
/* All Services that have the cluster address, in the order they came; `fn` returns false to stop. */
void kubernetes_index_each_by_ip(const struct kubernetes_index *index, const struct kube_ip *ip,
				 bool (*fn)(void *ctx, const struct kube_service *service),
				 void *ctx);
/* Services with the external address: how many, the first `max` of them in `ret`. */
size_t kubernetes_index_by_external_ip(const struct kubernetes_index *index,
				       const struct kube_ip *ip, const struct kube_service **ret,
				       size_t max);
/* All ready endpoints with the address: how many, the first `max` of them in `ret`. */
size_t kubernetes_index_endpoints(const struct kubernetes_index *index, const struct kube_ip *ip,
				  struct kubernetes_endpoint_ref *ret, size_t max);
/* The pod with the address, any of its addresses; NULL. Of several (addresses that are used again)
 * the one that came last. */
const struct kube_pod *kubernetes_index_pod_by_ip(const struct kubernetes_index *index,
						  const struct kube_ip *ip);
/* A pod of this namespace with the address (pods on the node's network share one); NULL. */
const struct kube_pod *kubernetes_index_pod_in(const struct kubernetes_index *index,
					       const struct kube_ip *ip, struct slice ns);
/* The namespace of all pods with the address; NULL when there is none, when they are of several
 * namespaces, or when one of them is on its host's network. */
const char *kubernetes_index_pod_namespace(const struct kubernetes_index *index,
					   const struct kube_ip *ip);
/* Whole walks, for transfers and snapshots; entries in no order. Under the writers' lock: control
 * threads only. */
void kubernetes_index_each(struct kubernetes_index *index,
			   bool (*fn)(void *ctx, const struct kubernetes_entry *entry), void *ctx);

/* Search lists of namespaces; they have a lock of their own. */
struct kubernetes_search_lists *kubernetes_index_lists(const struct kubernetes_index *index);

/* What Service has the name; under the writers' lock: control threads only. */
enum kubernetes_service_kind {
	KUBERNETES_KIND_NONE,
	KUBERNETES_KIND_CLUSTER_IP, /* or any other that is not headless */
	KUBERNETES_KIND_HEADLESS
};
enum kubernetes_service_kind kubernetes_index_kind(struct kubernetes_index *index, struct slice ns,
						   struct slice name);

/* Unix time of the last change that an answer could show. */
uint32_t kubernetes_index_serial(const struct kubernetes_index *index);

struct kubernetes_index_stats {
	size_t entries, services, slices, endpoints, pods, namespaces;
};
void kubernetes_index_stats(struct kubernetes_index *index, struct kubernetes_index_stats *ret);
