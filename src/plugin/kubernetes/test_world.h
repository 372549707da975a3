/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Objects for tests, a line each, decoded as those of an API server are:
 *
 *	namespace NAME
 *	service NS NAME [ips=A,B] [ports=name:80/TCP,...] [external=NAME]
 *	slice NS NAME of=SERVICE [ports=...] [eps=ADDRESS/HOSTNAME/ZONE,...]
 *	import NS NAME [type=Headless] [ips=...] [ports=...]
 *	imported NS NAME of=SERVICE cluster=ID [ports=...] [eps=...]
 *	pod NS NAME ips=... [labels=K:V,...]
 */
#pragma once

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "plugin/kubernetes/conf.h"

struct world {
	struct kube_string_pool *texts;
	struct kubernetes_index *x, *imports;
};

/* The word of a line that begins so, without that; "" when there is none. */
static inline struct slice world_word(struct slice line, const char *key)
{
	size_t n = strlen(key);
	while (line.n != 0) {
		struct slice w = slice_cut(&line, ' ');
		if (w.n >= n && memcmp(w.p, key, n) == 0)
			return (struct slice){ w.p + n, w.n - n };
	}
	return (struct slice){ "", 0 };
}

static inline void world_add_quoted(struct strbuf *b, const char *key, struct slice v)
{
	strbuf_addf(b, "\"%s\":", key);
	strbuf_add_quoted(b, v);
}

static inline void world_ports(struct strbuf *b, struct slice list)
{
	strbuf_adds(b, "\"ports\":[");
	for (bool first = true; list.n != 0; first = false) {
		struct slice p = slice_cut(&list, ','), name = slice_cut(&p, ':'),
			     number = slice_cut(&p, '/');
		strbuf_adds(b, first ? "{" : ",{");
		world_add_quoted(b, "name", name);
		strbuf_addf(b, ",\"port\":%.*s,", (int)number.n, number.p);
		world_add_quoted(b, "protocol", p);
		strbuf_adds(b, "}");
	}
	strbuf_adds(b, "]");
}

static inline void world_ips(struct strbuf *b, const char *key, struct slice list)
{
	strbuf_addf(b, "\"%s\":[", key);
	for (bool first = true; list.n != 0; first = false) {
		strbuf_adds(b, first ? "" : ",");
		strbuf_add_quoted(b, slice_cut(&list, ','));
	}
	strbuf_adds(b, "]");
}

static inline void world_endpoints(struct strbuf *b, struct slice list)
{
	strbuf_adds(b, "\"endpoints\":[");
	for (bool first = true; list.n != 0; first = false) {
		struct slice e = slice_cut(&list, ','), ip = slice_cut(&e, '/'),
			     host = slice_cut(&e, '/');
		strbuf_adds(b, first ? "{" : ",{");
		world_ips(b, "addresses", ip);
		if (host.n != 0) {
			strbuf_adds(b, ",");
			world_add_quoted(b, "hostname", host);
		}
		if (e.n != 0) {
			strbuf_adds(b, ",");
			world_add_quoted(b, "zone", e);
		}
		strbuf_adds(b, "}");
	}
	strbuf_adds(b, "]");
}

static inline void world_spec(struct strbuf *b, struct slice line, bool import)
{
	struct slice external = world_word(line, "external=");
	strbuf_adds(b, ",\"spec\":{");
	world_ips(b, import ? "ips" : "clusterIPs", world_word(line, "ips="));
	strbuf_adds(b, ",");
	world_ports(b, world_word(line, "ports="));
	strbuf_adds(b, ",");
	if (external.n != 0) {
		world_add_quoted(b, "externalName", external);
		strbuf_adds(b, ",\"type\":\"ExternalName\"}");
	} else {
		struct slice type = world_word(line, "type=");
		world_add_quoted(b, "type", type.n != 0 ? type : slice_of("ClusterIP"));
		strbuf_adds(b, "}");
	}
}

static inline void world_labels(struct strbuf *b, struct slice line)
{
	struct slice labels = world_word(line, "labels="), of = world_word(line, "of=");
	strbuf_adds(b, ",\"labels\":{");
	if (of.n != 0) {
		world_add_quoted(b, "kubernetes.io/service-name", of);
		strbuf_adds(b, ",");
		world_add_quoted(b, "multicluster.kubernetes.io/service-name", of);
		strbuf_adds(b, ",");
		world_add_quoted(b, "multicluster.kubernetes.io/source-cluster",
				 world_word(line, "cluster="));
	}
	for (bool first = of.n == 0; labels.n != 0; first = false) {
		struct slice l = slice_cut(&labels, ','), key = slice_cut(&l, ':');
		strbuf_adds(b, first ? "" : ",");
		strbuf_add_quoted(b, key);
		strbuf_adds(b, ":");
		strbuf_add_quoted(b, l);
	}
	strbuf_adds(b, "}");
}

static inline struct kube_obj *world_decode(struct kube_codec *c, struct strbuf *json)
{
	struct kube_obj *o = NULL;
	if (c->decode(c, strbuf_slice(json), &o) < 0)
		o = NULL;
	kube_codec_free(c);
	return o;
}

/* One line; the object, which the caller may use to take it out again. */
static inline struct kube_obj *world_add(struct world *w, const char *text)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	struct slice line = slice_of(text), rest = line, kind = slice_cut(&rest, ' '),
		     ns = slice_cut(&rest, ' '), name = slice_cut(&rest, ' ');
	struct kube_obj *o;
	if (slice_is(kind, "namespace")) {
		kubernetes_index_namespace(w->x, ns, true);
		return NULL;
	}
	strbuf_adds(&b, "{\"metadata\":{");
	world_add_quoted(&b, "name", name);
	strbuf_adds(&b, ",");
	world_add_quoted(&b, "namespace", ns);
	world_labels(&b, line);
	strbuf_adds(&b, "}");
	if (slice_is(kind, "service") || slice_is(kind, "import")) {
		bool import = slice_is(kind, "import");
		world_spec(&b, line, import);
		strbuf_adds(&b, "}");
		o = world_decode(
			import ? kube_import_codec(w->texts) : kube_service_codec(w->texts), &b);
		kubernetes_index_service(import ? w->imports : w->x, NULL, o);
	} else if (slice_is(kind, "pod")) {
		struct slice ips = world_word(line, "ips=");
		strbuf_adds(&b, ",\"status\":{\"podIPs\":[");
		for (bool first = true; ips.n != 0; first = false) {
			strbuf_adds(&b, first ? "{" : ",{");
			world_add_quoted(&b, "ip", slice_cut(&ips, ','));
			strbuf_adds(&b, "}");
		}
		strbuf_adds(&b, "]}}");
		o = world_decode(kube_pod_codec(w->texts), &b);
		kubernetes_index_pod(w->x, NULL, o);
	} else {
		bool import = slice_is(kind, "imported");
		strbuf_adds(&b, ",");
		world_ports(&b, world_word(line, "ports="));
		strbuf_adds(&b, ",");
		world_endpoints(&b, world_word(line, "eps="));
		strbuf_adds(&b, "}");
		o = world_decode(
			import ? kube_imported_slice_codec(w->texts, KUBE_SLICE_TARGETS)
			       : kube_slice_codec(w->texts, KUBE_SLICE_ZONES | KUBE_SLICE_TARGETS),
			&b);
		kubernetes_index_slice(import ? w->imports : w->x, NULL, o);
	}
	return o;
}

static inline void world_init(struct world *w, const char *const *lines, size_t n)
{
	w->texts = kube_string_pool_new();
	w->x = kubernetes_index_new();
	w->imports = kubernetes_index_new();
	for (size_t i = 0; i < n; i++)
		kube_obj_unref(world_add(w, lines[i]));
}

static inline void world_done(struct world *w)
{
	kubernetes_index_free(w->x);
	kubernetes_index_free(w->imports);
	kube_string_pool_free(w->texts);
}
