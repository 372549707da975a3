/* Objects as lines of a snapshot. They are read again by the decoders of what the API server sends
 * (kube/slim.h), so the form is the API's. */
#include <arpa/inet.h>

#include "api/meta.h"
#include "kube/slim.h"
#include "kube/tree.h"
#include "plugin/kubernetes/lists.h"
#include "plugin/kubernetes/snapshot.h"

const char kubernetes_snapshot_letters[KUBERNETES_KINDS] = {
	[KUBERNETES_SERVICES] = 'S', [KUBERNETES_SLICES] = 'E',	 [KUBERNETES_NAMESPACES] = 'N',
	[KUBERNETES_PODS] = 'P',     [KUBERNETES_IMPORTS] = 'I', [KUBERNETES_IMPORTED_SLICES] = 'J',
};

static void add_text(struct strbuf *b, const char *before, const char *text)
{
	strbuf_adds(b, before);
	strbuf_add_json(b, slice_of(text));
}

static void add_ip(struct strbuf *b, const char *before, const struct kube_ip *ip)
{
	char text[INET6_ADDRSTRLEN];
	bool v4 = kube_ip_is4(ip);
	inet_ntop(v4 ? AF_INET : AF_INET6, ip->b + (v4 ? 12 : 0), text, sizeof(text));
	add_text(b, before, text);
}

static const char *comma(uint32_t i)
{
	return i != 0 ? "," : "";
}

static void add_head(struct strbuf *b, const char *kind, const struct kube_obj *o)
{
	add_text(b, "{\"kind\":", kind);
	add_text(b, ",\"metadata\":{\"name\":", o->name);
	add_text(b, ",\"namespace\":", o->ns);
	add_text(b, ",\"resourceVersion\":", o->rv);
}

static void add_ports(struct strbuf *b, const struct kube_port *p, uint32_t n)
{
	strbuf_adds(b, "\"ports\":[");
	for (uint32_t i = 0; i < n; i++) {
		/* The one that stands for none. */
		if (p[i].port == -1 && p[i].name[0] == '\0')
			continue;
		add_text(b, i != 0 ? ",{\"name\":" : "{\"name\":", p[i].name);
		add_text(b, ",\"protocol\":", p[i].protocol);
		strbuf_addf(b, ",\"port\":%d}", p[i].port);
	}
	strbuf_adds(b, "]");
}

static void add_service(struct strbuf *b, const struct kube_obj *o)
{
	static const char *const types[] = { [KUBE_SERVICE_CLUSTER_IP] = "ClusterIP",
					     [KUBE_SERVICE_NODE_PORT] = "NodePort",
					     [KUBE_SERVICE_LOAD_BALANCER] = "LoadBalancer",
					     [KUBE_SERVICE_EXTERNAL_NAME] = "ExternalName" };
	const struct kube_service *s = kube_service_of(o);
	add_head(b, "Service", o);
	add_text(b, "},\"spec\":{\"type\":", types[s->type]);
	add_text(b, ",\"externalName\":", s->external_name);
	strbuf_adds(b, s->headless ? ",\"clusterIPs\":[\"None\"" : ",\"clusterIPs\":[");
	for (uint32_t i = 0; i < s->n_ips; i++)
		add_ip(b, comma(i), &s->ips[i]);
	strbuf_adds(b, "],\"externalIPs\":[");
	for (uint32_t i = 0; i < s->n_external; i++)
		add_text(b, comma(i), s->external[i]);
	strbuf_adds(b, "],");
	add_ports(b, s->ports, s->n_ports);
	strbuf_adds(b, "}}");
}

/* A ServiceImport has neither names nor addresses outside of the cluster. */
static void add_import(struct strbuf *b, const struct kube_obj *o)
{
	const struct kube_service *s = kube_service_of(o);
	add_head(b, "ServiceImport", o);
	add_text(b, "},\"spec\":{\"type\":", s->headless ? "Headless" : "ClusterSetIP");
	strbuf_adds(b, ",\"ips\":[");
	for (uint32_t i = 0; i < s->n_ips; i++)
		add_ip(b, comma(i), &s->ips[i]);
	strbuf_adds(b, "],");
	add_ports(b, s->ports, s->n_ports);
	strbuf_adds(b, "}}");
}

/* What follows the labels. When it changed last is left out: that is long ago when it is read. */
static void add_endpoints(struct strbuf *b, const struct kube_slice *s)
{
	strbuf_adds(b, "}},\"endpoints\":[");
	for (uint32_t i = 0; i < s->n_endpoints; i++) {
		const struct kube_endpoint *e = &s->endpoints[i];
		strbuf_adds(b, comma(i));
		add_ip(b, "{\"addresses\":[", &e->ip);
		add_text(b, "],\"hostname\":", kube_slice_text(s, e->hostname));
		add_text(b, ",\"targetRef\":{\"name\":", kube_slice_text(s, e->target));
		add_text(b, "},\"zone\":", e->zone);
		strbuf_adds(b, "}");
	}
	strbuf_adds(b, "],");
	add_ports(b, s->ports, s->n_ports);
	strbuf_adds(b, "}");
}

static void add_slice(struct strbuf *b, const struct kube_obj *o)
{
	const struct kube_slice *s = kube_slice_of(o);
	add_head(b, "EndpointSlice", o);
	add_text(b, ",\"labels\":{\"kubernetes.io/service-name\":", s->service);
	add_endpoints(b, s);
}

static void add_imported_slice(struct strbuf *b, const struct kube_obj *o)
{
	const struct kube_slice *s = kube_slice_of(o);
	add_head(b, "EndpointSlice", o);
	add_text(b, ",\"labels\":{\"multicluster.kubernetes.io/service-name\":", s->service);
	add_text(b, ",\"multicluster.kubernetes.io/source-cluster\":", s->cluster);
	add_endpoints(b, s);
}

static void add_namespace(struct strbuf *b, const struct kube_obj *o)
{
	const char *list = api_annotation(kube_tree_of(o), KUBERNETES_LIST_KEY);
	add_head(b, "Namespace", o);
	strbuf_adds(b, ",\"annotations\":{");
	if (list != NULL)
		add_text(b, "\"" KUBERNETES_LIST_KEY "\":", list);
	strbuf_adds(b, "}}}");
}

static void add_pod(struct strbuf *b, const struct kube_obj *o)
{
	const struct kube_pod *p = kube_pod_of(o);
	add_head(b, "Pod", o);
	strbuf_adds(b, ",\"labels\":{");
	for (uint32_t i = 0; i < p->n_labels; i++) {
		add_text(b, comma(i), p->labels[i].key);
		add_text(b, ":", p->labels[i].value);
	}
	strbuf_addf(b, "}},\"spec\":{\"hostNetwork\":%s},\"status\":{\"podIPs\":[",
		    p->host_network ? "true" : "false");
	for (uint32_t i = 0; i < p->n_ips; i++) {
		add_ip(b, i != 0 ? ",{\"ip\":" : "{\"ip\":", &p->ips[i]);
		strbuf_adds(b, "}");
	}
	strbuf_adds(b, "]}}");
}

void kubernetes_snapshot_add(struct strbuf *out, enum kubernetes_kind kind,
			     const struct kube_obj *o)
{
	static void (*const add[KUBERNETES_KINDS])(struct strbuf * b, const struct kube_obj *o) = {
		[KUBERNETES_SERVICES] = add_service,
		[KUBERNETES_SLICES] = add_slice,
		[KUBERNETES_NAMESPACES] = add_namespace,
		[KUBERNETES_PODS] = add_pod,
		[KUBERNETES_IMPORTS] = add_import,
		[KUBERNETES_IMPORTED_SLICES] = add_imported_slice,
	};
	strbuf_addc(out, kubernetes_snapshot_letters[kind]);
	strbuf_addc(out, ' ');
	add[kind](out, o);
	strbuf_addc(out, '\n');
}
