/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labels for `metadata`: the parts of the question, and with `pods verified` the pod that asks. */
#include "plugin/kubernetes/metadata.h"

#include <string.h>

static const char label_prefix[] = "kubernetes/client-label/";

static struct slice type_word(const struct kubernetes_qparse *qparse)
{
	bool below = qparse->what == KUBERNETES_NAMESPACE || qparse->what == KUBERNETES_SERVICE ||
		     qparse->what == KUBERNETES_POD;
	return slice_of(!below ? "" : qparse->is_pod ? "pod" : "svc");
}

/* Topology zone: its labels stand at the left of the question. */
static struct slice topology_of(struct query *q, const struct kubernetes_qparse *qparse)
{
	if (qparse->n_zone_labels == 0)
		return slice_of("");
	size_t n = q->qname.label[qparse->n_zone_labels] - 1U;
	char *text = arena_strndup(&q->arena, (const char *)q->qname.wire + 1, n);
	for (unsigned i = 1; text != NULL && i < qparse->n_zone_labels; i++)
		text[q->qname.label[i] - 1] = '.';
	return text != NULL ? (struct slice){ text, n } : (struct slice){ NULL, 0 };
}

static int parse_question(const struct kubernetes_conf *conf, struct query *q,
			  struct kubernetes_qparse *ret)
{
	int zone = zone_list_match(&conf->zones, &q->qname);
	if (zone >= 0)
		kubernetes_qparse(
			&q->qname, conf->zone_labels[zone],
			&(struct kubernetes_qparse_opts){
				.multicluster = conf->is_multicluster[zone], .zonal = conf->zonal },
			ret);
	return zone;
}

/* ---- values ---- */

static struct slice part_value(struct plugin_inst *self, struct query *q, struct slice label)
{
	struct kubernetes_qparse p;
	if (parse_question(self->conf, q, &p) < 0)
		return (struct slice){ NULL, 0 };
	const struct {
		const char *label;
		struct slice value;
	} parts[] = { { "kubernetes/port-name", p.port },    { "kubernetes/protocol", p.protocol },
		      { "kubernetes/endpoint", p.endpoint }, { "kubernetes/cluster", p.cluster },
		      { "kubernetes/service", p.service },   { "kubernetes/namespace", p.ns },
		      { "kubernetes/kind", type_word(&p) } };
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (slice_is(label, parts[i].label))
			return parts[i].value.p != NULL ? parts[i].value : slice_of("");
	}
	return topology_of(q, &p);
}

static struct slice error_value(struct plugin_inst *self, struct query *q, struct slice label)
{
	(void)self;
	(void)q;
	(void)label;
	return slice_of("invalid query name");
}

static const struct kube_pod *client_pod(const struct kubernetes_conf *conf, const struct query *q)
{
	struct kube_ip ip = { .b = { [10] = 0xff, [11] = 0xff } };
	size_t n;
	const uint8_t *bytes = net_addr_bytes(&q->client, &n);
	if (conf->pods != KUBERNETES_PODS_VERIFIED)
		return NULL;
	memcpy(ip.b + sizeof(ip.b) - n, bytes, n);
	return kubernetes_index_pod_by_ip(conf->index, &ip);
}

static struct slice client_value(struct plugin_inst *self, struct query *q, struct slice label)
{
	const struct kube_pod *pod = client_pod(self->conf, q);
	size_t n = sizeof(label_prefix) - 1;
	const char *text = NULL;
	if (pod == NULL)
		return (struct slice){ NULL, 0 };
	if (slice_is(label, "kubernetes/client-namespace"))
		text = pod->o.ns;
	else if (slice_is(label, "kubernetes/client-pod-name"))
		text = pod->o.name;
	for (uint32_t i = 0; text == NULL && i < pod->n_labels; i++) {
		if (label.n > n &&
		    slice_is((struct slice){ label.p + n, label.n - n }, pod->labels[i].key))
			text = pod->labels[i].value;
	}
	/* The pod may be gone before the value is used. */
	text = text != NULL ? arena_strdup(&q->arena, text) : NULL;
	return text != NULL ? slice_of(text) : (struct slice){ NULL, 0 };
}

/* ---- labels ---- */

static void add_client(struct plugin_inst *self, struct query *q)
{
	const struct kube_pod *pod = client_pod(self->conf, q);
	if (pod == NULL)
		return;
	query_meta_set(q, self, "kubernetes/client-namespace", client_value);
	query_meta_set(q, self, "kubernetes/client-pod-name", client_value);
	for (uint32_t i = 0; i < pod->n_labels; i++) {
		const char *label =
			arena_printf(&q->arena, "%s%s", label_prefix, pod->labels[i].key);
		if (label == NULL)
			return;
		query_meta_set(q, self, label, client_value);
	}
}

void kubernetes_metadata(struct plugin_inst *self, struct query *q)
{
	static const char *const always[] = { "kubernetes/port-name", "kubernetes/protocol",
					      "kubernetes/endpoint",  "kubernetes/service",
					      "kubernetes/namespace", "kubernetes/kind" };
	const struct kubernetes_conf *c = self->conf;
	struct kubernetes_qparse p;
	add_client(self, q);
	int zone = parse_question(c, q, &p);
	if (zone < 0)
		return;
	if (p.what == KUBERNETES_NONSENSE || p.what == KUBERNETES_VERSION ||
	    p.what == KUBERNETES_NS_HOST) {
		query_meta_set(q, self, "kubernetes/parse-error", error_value);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(always); i++)
		query_meta_set(q, self, always[i], part_value);
	if (c->is_multicluster[zone])
		query_meta_set(q, self, "kubernetes/cluster", part_value);
	if (c->zonal)
		query_meta_set(q, self, "kubernetes/zone", part_value);
}
