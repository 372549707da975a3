/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Services, EndpointSlices and Pods as name servers need them: the fields that CoreDNS keeps, each
 * object in one block of memory, strings that many objects share in a pool. All are read-only.
 *
 * The codecs (compact_pod.h and the like) store strings in a pool, which must outlive them, but not
 * their objects. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "kube/decode/compact_import.h"
#include "kube/decode/compact_pod.h"
#include "kube/decode/compact_pod_node.h"
#include "kube/decode/compact_service.h"
#include "kube/decode/compact_slice.h"
#include "kube/decode/obj.h"
#include "kube/decode/string_pool.h"

/* An address; IPv4 as ::ffff:a.b.c.d. */
struct kube_ip {
	uint8_t b[16];
};
/* ERR_PARSE; no zones, no brackets. */
MUST_CHECK int kube_ip_parse(struct slice text, struct kube_ip *ret);
bool kube_ip_is4(const struct kube_ip *ip);

struct kube_port {
	const char *name;     /* "" when it has none */
	const char *protocol; /* "TCP"; "" when it has none */
	int32_t port;	      /* -1: none, as in an object without any ports */
};

enum kube_service_type {
	KUBE_SERVICE_CLUSTER_IP,
	KUBE_SERVICE_NODE_PORT,
	KUBE_SERVICE_LOAD_BALANCER,
	KUBE_SERVICE_EXTERNAL_NAME,
};

struct kube_service {
	struct kube_obj o;
	enum kube_service_type type;
	bool headless;
	uint32_t n_ports, n_ips, n_external, n_external_ips;
	const char *external_name;     /* "" */
	const struct kube_port *ports; /* at least one; a ServiceImport may have none */
	const struct kube_ip *ips;     /* of the cluster; none when headless */
	/* externalIPs, then per ingress of the load balancer its IP or else its host name */
	const char *const *external;
	const struct kube_ip *external_ips; /* those of them that are addresses */
};

struct kube_endpoint {
	struct kube_ip ip;
	const char *zone;  /* in lower case; "" */
	uint32_t hostname; /* kube_slice_text */
	uint32_t target;   /* kube_slice_text; one of 64 or more bytes is left out */
};

/* An EndpointSlice. Endpoints that are not ready are left out (none said counts as ready), and so
 * are addresses that are no IPs. */
struct kube_slice {
	struct kube_obj o;
	const char *service; /* name of its Service, in its own namespace; "" */
	const char *cluster; /* where an imported one comes from; "" */
	uint64_t
		trigger_ns; /* wall time of the change that caused it; 0 when the object has none */
	uint32_t n_ports, n_endpoints;
	const struct kube_port *ports; /* at least one */
	const struct kube_endpoint *endpoints;
	const char *text;
};

static inline const char *kube_slice_text(const struct kube_slice *slice, uint32_t at)
{
	return slice->text + at;
}

struct kube_label {
	const char *key, *value;
};

/* A pod that is being deleted is an object to be ignored. */
struct kube_pod {
	struct kube_obj o;
	bool host_network; /* its addresses are those of its node */
	uint32_t n_ips, n_labels;
	const struct kube_ip *ips;
	const struct kube_label *labels;
};

/* A pod as the network of its node knows it. One that is being deleted still has its addresses. */
struct kube_pod_node {
	struct kube_obj o;
	bool has_own_ips; /* not in the host's network, and not ended: its addresses are its own */
	bool is_deleting;
	uint32_t n_ips;
	const struct kube_ip *ips;
	struct kube_ip host_ip; /* of the node; all zero: not known */
	const char *node;	/* "" before it has one */
	const char *created;	/* metadata.creationTimestamp */
};

static inline const struct kube_service *kube_service_of(const struct kube_obj *obj)
{
	return (const struct kube_service *)obj;
}
static inline const struct kube_slice *kube_slice_of(const struct kube_obj *obj)
{
	return (const struct kube_slice *)obj;
}
static inline const struct kube_pod *kube_pod_of(const struct kube_obj *obj)
{
	return (const struct kube_pod *)obj;
}
static inline const struct kube_pod_node *kube_pod_node_of(const struct kube_obj *obj)
{
	return (const struct kube_pod_node *)obj;
}
