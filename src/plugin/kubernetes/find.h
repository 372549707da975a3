/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a question to what it finds, in the order and with the exceptions of CoreDNS's
 * findServices and findPods. */
#pragma once

#include "plugin/kubernetes/conf.h"

enum kubernetes_found {
	KUBERNETES_NXDOMAIN,
	KUBERNETES_EXISTS, /* the name exists, perhaps without records */
};

/* One (address, port) that a name has. */
struct kubernetes_hit {
	const struct kube_ip *ip; /* of a pod's name: the caller's */
	const struct kube_service *service;
	const struct kube_slice *slice; /* NULL: a cluster address */
	const struct kube_endpoint *endpoint;
	int32_t port; /* -1: none */
};

/* Called for one hit after the other; false stops. */
typedef bool (*kubernetes_hit_fn)(void *ctx, const struct kubernetes_hit *hit);

struct kubernetes_find {
	const struct kubernetes_conf *conf;
	const struct dns_qname *name;
	struct kubernetes_qparse parsed;
	const struct kube_service *external; /* set when the name is an ExternalName's */
	struct kube_ip pod;		     /* address of a pod's name */
};

/* Parses `name`, which lies in the zone number `zone`, and calls `each` for what it has. */
enum kubernetes_found kubernetes_find(struct kubernetes_find *find,
				      const struct kubernetes_conf *conf,
				      const struct dns_qname *name, size_t zone,
				      kubernetes_hit_fn each, void *ctx);
bool kubernetes_exposed(const struct kubernetes_conf *conf, struct slice ns);
/* The label of an endpoint's own name: hostname, pod's name or dashed address; its length. */
size_t kubernetes_endpoint_label(const struct kubernetes_conf *conf, const struct kube_slice *slice,
				 const struct kube_endpoint *endpoint, char out[DNS_LABEL_MAX + 1]);
