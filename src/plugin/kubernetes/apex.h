/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The zone's own name servers: the Services whose endpoints we are, or ns.dns.ZONE with our own
 * addresses. */
#pragma once

#include "plugin/kubernetes/addr.h"
#include "plugin/kubernetes/conf.h"

/* A name server of the zones: an endpoint of a Service, the Service (without slice), or ns.dns.ZONE
 * (without Service), each with one address. */
struct kubernetes_host {
	const struct kube_service *service;
	const struct kube_slice *slice;
	const struct kube_endpoint *endpoint;
	const struct kube_ip *ip;
};
/* Called with each; false stops. */
typedef bool (*kubernetes_host_fn)(void *ctx, const struct kubernetes_host *host);

/* On a worker, under RCU: what hosts point at is valid for the call. serve_ns answers NS of the
 * zone, serve_ns_host any type of ns.dns.ZONE; `zone` is the index in conf->zones. */
enum verdict kubernetes_serve_ns(struct plugin_inst *self, struct query *q, size_t zone);
enum verdict kubernetes_serve_ns_host(struct plugin_inst *self, struct query *q, size_t zone);
void kubernetes_each_host(const struct kubernetes_conf *conf, kubernetes_host_fn fn, void *ctx);
/* Its name in the zone; the length, 0: there is none. */
size_t kubernetes_host_name(const struct kubernetes_conf *conf, const struct kubernetes_host *host,
			    const uint8_t *zone, uint8_t out[DNS_NAME_MAX]);
/* The addresses of ns.dns.ZONE; false where there is no such name. */
bool kubernetes_ns_addrs(const struct kubernetes_conf *conf, const struct query *q, size_t zone,
			 struct kubernetes_addrs *addrs);
