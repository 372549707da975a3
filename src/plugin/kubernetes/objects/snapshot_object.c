/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects as lines of a snapshot. They are read again by the decoders of what the API server sends
 * (kube/decode/compact.h), so the form is the API's. */
#include "plugin/kubernetes/objects/snapshot_object.h"

#include <arpa/inet.h>

#include "api/meta.h"
#include "kube/decode/compact.h"
#include "kube/decode/tree.h"
#include "plugin/kubernetes/objects/search_lists.h"

const char kubernetes_snapshot_letters[KUBERNETES_KINDS] = {
	[KUBERNETES_SERVICES] = 'S', [KUBERNETES_SLICES] = 'E',	 [KUBERNETES_NAMESPACES] = 'N',
	[KUBERNETES_PODS] = 'P',     [KUBERNETES_IMPORTS] = 'I', [KUBERNETES_IMPORTED_SLICES] = 'J',
};

static void add_text(struct strbuf *out, const char *before, const char *text)
{
	strbuf_adds(out, before);
	strbuf_add_json(out, slice_of(text));
}

static void add_ip(struct strbuf *out, const char *before, const struct kube_ip *ip)
{
	char text[INET6_ADDRSTRLEN];
	bool v4 = kube_ip_is4(ip);
	inet_ntop(v4 ? AF_INET : AF_INET6, ip->b + (v4 ? 12 : 0), text, sizeof(text));
	add_text(out, before, text);
}

static const char *comma_before(uint32_t index)
{
	return index != 0 ? "," : "";
}

static void add_head(struct strbuf *out, const char *kind, const struct kube_obj *obj)
{
	add_text(out, "{\"kind\":", kind);
	add_text(out, ",\"metadata\":{\"name\":", obj->name);
	add_text(out, ",\"namespace\":", obj->ns);
	add_text(out, ",\"resourceVersion\":", obj->rv);
}

static void add_ports(struct strbuf *out, const struct kube_port *port, uint32_t count)
{
	strbuf_adds(out, "\"ports\":[");
	for (uint32_t i = 0; i < count; i++) {
		/* The one that stands for none. */
		if (port[i].port == -1 && port[i].name[0] == '\0')
			continue;
		add_text(out, i != 0 ? ",{\"name\":" : "{\"name\":", port[i].name);
		add_text(out, ",\"protocol\":", port[i].protocol);
		strbuf_addf(out, ",\"port\":%d}", port[i].port);
	}
	strbuf_adds(out, "]");
}

static void add_service(struct strbuf *out, const struct kube_obj *obj)
{
	static const char *const types[] = { [KUBE_SERVICE_CLUSTER_IP] = "ClusterIP",
					     [KUBE_SERVICE_NODE_PORT] = "NodePort",
					     [KUBE_SERVICE_LOAD_BALANCER] = "LoadBalancer",
					     [KUBE_SERVICE_EXTERNAL_NAME] = "ExternalName" };
	const struct kube_service *s = kube_service_of(obj);
	add_head(out, "Service", obj);
	add_text(out, "},\"spec\":{\"type\":", types[s->type]);
	add_text(out, ",\"externalName\":", s->external_name);
	strbuf_adds(out, s->headless ? ",\"clusterIPs\":[\"None\"" : ",\"clusterIPs\":[");
	for (uint32_t i = 0; i < s->n_ips; i++)
		add_ip(out, comma_before(i), &s->ips[i]);
	strbuf_adds(out, "],\"externalIPs\":[");
	for (uint32_t i = 0; i < s->n_external; i++)
		add_text(out, comma_before(i), s->external[i]);
	strbuf_adds(out, "],");
	add_ports(out, s->ports, s->n_ports);
	strbuf_adds(out, "}}");
}

/* A ServiceImport has neither names nor addresses outside of the cluster. */
static void add_import(struct strbuf *out, const struct kube_obj *obj)
{
	const struct kube_service *s = kube_service_of(obj);
	add_head(out, "ServiceImport", obj);
	add_text(out, "},\"spec\":{\"type\":", s->headless ? "Headless" : "ClusterSetIP");
	strbuf_adds(out, ",\"ips\":[");
	for (uint32_t i = 0; i < s->n_ips; i++)
		add_ip(out, comma_before(i), &s->ips[i]);
	strbuf_adds(out, "],");
	add_ports(out, s->ports, s->n_ports);
	strbuf_adds(out, "}}");
}

/* What follows the labels. When it changed last is left out: that is long ago when it is read. */
static void add_endpoints(struct strbuf *out, const struct kube_slice *slice)
{
	strbuf_adds(out, "}},\"endpoints\":[");
	for (uint32_t i = 0; i < slice->n_endpoints; i++) {
		const struct kube_endpoint *e = &slice->endpoints[i];
		strbuf_adds(out, comma_before(i));
		add_ip(out, "{\"addresses\":[", &e->ip);
		add_text(out, "],\"hostname\":", kube_slice_text(slice, e->hostname));
		add_text(out, ",\"targetRef\":{\"name\":", kube_slice_text(slice, e->target));
		add_text(out, "},\"zone\":", e->zone);
		strbuf_adds(out, "}");
	}
	strbuf_adds(out, "],");
	add_ports(out, slice->ports, slice->n_ports);
	strbuf_adds(out, "}");
}

static void add_slice(struct strbuf *out, const struct kube_obj *obj)
{
	const struct kube_slice *s = kube_slice_of(obj);
	add_head(out, "EndpointSlice", obj);
	add_text(out, ",\"labels\":{\"kubernetes.io/service-name\":", s->service);
	add_endpoints(out, s);
}

static void add_imported_slice(struct strbuf *out, const struct kube_obj *obj)
{
	const struct kube_slice *s = kube_slice_of(obj);
	add_head(out, "EndpointSlice", obj);
	add_text(out, ",\"labels\":{\"multicluster.kubernetes.io/service-name\":", s->service);
	add_text(out, ",\"multicluster.kubernetes.io/source-cluster\":", s->cluster);
	add_endpoints(out, s);
}

static void add_namespace(struct strbuf *out, const struct kube_obj *obj)
{
	static const char *const keys[] = { KUBERNETES_SEARCH_LIST_KEY,
					    KUBERNETES_SEARCH_LISTS_KEY };
	unsigned n = 0;
	add_head(out, "Namespace", obj);
	strbuf_adds(out, ",\"annotations\":{");
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *text = api_annotation(kube_tree_of(obj), keys[i]);
		if (text == NULL)
			continue;
		add_text(out, comma_before(n++), keys[i]);
		add_text(out, ":", text);
	}
	strbuf_adds(out, "}}}");
}

static void add_pod(struct strbuf *out, const struct kube_obj *obj)
{
	const struct kube_pod *p = kube_pod_of(obj);
	add_head(out, "Pod", obj);
	strbuf_adds(out, ",\"labels\":{");
	for (uint32_t i = 0; i < p->n_labels; i++) {
		add_text(out, comma_before(i), p->labels[i].key);
		add_text(out, ":", p->labels[i].value);
	}
	strbuf_addf(out, "}},\"spec\":{\"hostNetwork\":%s},\"status\":{\"podIPs\":[",
		    p->host_network ? "true" : "false");
	for (uint32_t i = 0; i < p->n_ips; i++) {
		add_ip(out, i != 0 ? ",{\"ip\":" : "{\"ip\":", &p->ips[i]);
		strbuf_adds(out, "}");
	}
	strbuf_adds(out, "]}}");
}

void kubernetes_snapshot_add(struct strbuf *out, enum kubernetes_kind kind,
			     const struct kube_obj *obj)
{
	static void (*const add[KUBERNETES_KINDS])(struct strbuf * b,
						   const struct kube_obj *obj) = {
		[KUBERNETES_SERVICES] = add_service,
		[KUBERNETES_SLICES] = add_slice,
		[KUBERNETES_NAMESPACES] = add_namespace,
		[KUBERNETES_PODS] = add_pod,
		[KUBERNETES_IMPORTS] = add_import,
		[KUBERNETES_IMPORTED_SLICES] = add_imported_slice,
	};
	strbuf_addc(out, kubernetes_snapshot_letters[kind]);
	strbuf_addc(out, ' ');
	add[kind](out, obj);
	strbuf_addc(out, '\n');
}
