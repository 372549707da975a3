/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Search paths of pods. For `autopath @kubernetes` those of the namespace in which the client's
 * address is a pod's. An address from which no namespace follows has none, and the client walks its
 * path itself, as without autopath: that of a node (pods of the host's network share it with each
 * other and with everything that runs there), and one that pods of several namespaces have at the
 * same time, as when it is used again before the old pod is gone. For searchpath those of a
 * list. */
#include "plugin/kubernetes/search_path.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/err_text.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "dns/resolvconf.h"
#include "kube/decode/tree.h"
#include "plugin/kubernetes/find.h"
#include "plugin/kubernetes/objects/search_lists.h"

enum { OWN_ELEMENTS = 4 }; /* ns.svc.Z, svc.Z, Z, and the root in the end */

void kubernetes_host_search_read(struct kubernetes_conf *conf, const char *path)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct dns_resolvconf rc = { 0 };
	struct arena a;
	arena_init(&a);
	/* As in CoreDNS, a file that cannot be read is an empty one. */
	if (readfile_path(path, DNS_RESOLVCONF_BYTES_MAX, 0, &text) < 0 ||
	    dns_resolvconf_parse(strbuf_slice(&text), &a, &rc) < 0)
		rc.n_search = 0;
	conf->host_search = xcalloc(rc.n_search + 1, sizeof(*conf->host_search));
	for (size_t i = 0; i < rc.n_search; i++) {
		uint8_t name[DNS_NAME_MAX];
		int n = dns_name_from_text(slice_of(rc.search[i]), name);
		if (n < 0)
			continue;
		dns_name_lower(name, name);
		conf->host_search[conf->n_host_search++] = xmemdup(name, (size_t)n);
	}
	arena_done(&a);
}

void kubernetes_host_search_free(struct kubernetes_conf *conf)
{
	for (size_t i = 0; i < conf->n_host_search; i++)
		free(conf->host_search[i]);
	free(conf->host_search);
	conf->host_search = NULL;
	conf->n_host_search = 0;
}

static bool client_ip(const struct query *q, struct kube_ip *ret)
{
	size_t n;
	const uint8_t *p = net_addr_bytes(&q->client, &n);
	*ret = (struct kube_ip){ .b = { [10] = 0xff, [11] = 0xff } };
	if (n != 4 && n != 16)
		return false;
	memcpy(ret->b + 16 - n, p, n);
	return true;
}

/* The search list of a namespace: ns.svc.ZONE, svc.ZONE, ZONE, those of the host, the root. Returns
 * their number, 0 when there is no room; they live as long as q. */
static int own_search_list(const struct kubernetes_conf *conf, struct query *q, size_t zone,
			   struct slice ns, const uint8_t **out, size_t max)
{
	static const uint8_t svc[] = "\3svc";
	const uint8_t *z = conf->zones.wire[zone];
	size_t zone_n = dns_name_len(z), svc_n = sizeof(svc) - 1;
	int n = 0;
	if (max < OWN_ELEMENTS || ns.n > DNS_LABEL_MAX || 1 + ns.n + svc_n + zone_n > DNS_NAME_MAX)
		return 0;
	uint8_t *name = arena_alloc(&q->arena, 1 + ns.n + svc_n + zone_n);
	if (name == NULL)
		return 0;
	name[0] = (uint8_t)ns.n;
	memcpy(name + 1, ns.p, ns.n);
	memcpy(name + 1 + ns.n, svc, svc_n);
	memcpy(name + 1 + ns.n + svc_n, z, zone_n);
	out[n++] = name;
	out[n++] = name + 1 + ns.n;
	out[n++] = name + 1 + ns.n + svc_n;
	for (size_t i = 0; i < conf->n_host_search && (size_t)n + 1 < max; i++)
		out[n++] = conf->host_search[i];
	out[n++] = dns_name_root;
	assert((size_t)n <= max);
	return n;
}

int kubernetes_search_for_client(struct plugin_inst *self, struct query *q, const uint8_t **out,
				 size_t max)
{
	const struct kubernetes_conf *c = self->conf;
	struct kube_ip ip;
	int zone = zone_list_match(&c->zones, &q->qname);
	if (zone < 0 || c->pods != KUBERNETES_PODS_VERIFIED || !client_ip(q, &ip))
		return 0;
	const char *ns = kubernetes_index_pod_namespace(c->index, &ip);
	return ns != NULL ? own_search_list(c, q, (size_t)zone, slice_of(ns), out, max) : 0;
}

/* ---- by the id of a list, for searchpath ---- */

static int copy_list(const struct dns_search_list *list, struct query *q, const uint8_t **out,
		     size_t max)
{
	int n = 0;
	for (size_t i = 0; i < list->n && (size_t)n + 1 < max; i++) {
		out[n] = arena_memdup(&q->arena, list->name[i], dns_name_len(list->name[i]));
		if (out[n] == NULL)
			return 0;
		n++;
	}
	out[n++] = dns_name_root;
	return n;
}

int kubernetes_search_by_id(struct plugin_inst *self, struct query *q, struct slice id,
			    const uint8_t **out, size_t max)
{
	const struct kubernetes_conf *c = self->conf;
	const struct kubernetes_search_lists *lists = kubernetes_index_lists(c->index);
	int zone = zone_list_match(&c->zones, &q->qname);
	/* Ids come first: a list cannot be made so that its id equals the name of a namespace, but
	 * a namespace can be named like an id. */
	const struct kubernetes_search_list *l = kubernetes_search_lists_by_id(lists, id);
	if (l != NULL)
		return copy_list(&l->list, q, out, max);
	if (!kubernetes_exposed(c, id))
		return 0;
	l = kubernetes_search_lists_by_ns(lists, id);
	return l != NULL
		       ? copy_list(&l->list, q, out, max)
		       : own_search_list(c, q, zone < 0 ? c->primary : (size_t)zone, id, out, max);
}

/* The namespace's own list. */
static void set_own_list(struct kubernetes_index *index, const char *ns, const char *text)
{
	struct kubernetes_search_list *l = NULL;
	char err[512];
	if (text != NULL) {
		l = kubernetes_search_list_parse(slice_of(ns), slice_of(text), ERR_TEXT(err));
		if (l == NULL)
			log_warn(KUBERNETES_AREA,
				 "annotation %s of namespace '%s' has no effect: %s",
				 KUBERNETES_SEARCH_LIST_KEY, ns, err);
		else
			log_info(KUBERNETES_AREA, "search list '%s' of namespace '%s'", l->list.id,
				 ns);
	}
	kubernetes_search_lists_set(kubernetes_index_lists(index), slice_of(ns), l);
}

/* Lists that are found by their ids alone stand in the table under `NAMESPACE/ID`, which is the name
 * of no namespace. */
struct further_lists {
	struct kubernetes_index *index;
	const char *ns;
	const char *kept; /* the annotation whose lists stay */
	const char *id;	  /* one to be found in it */
	bool is_found;
};

/* Calls `fn` for each valid list of the annotation. */
static void each_further_list(struct further_lists *further, const char *text,
			      void (*fn)(struct further_lists *further, const char *id,
					 struct slice list))
{
	struct slice rest = slice_of(text != NULL ? text : "");
	for (int i = 0; rest.n != 0 && i < KUBERNETES_SEARCH_LISTS_MAX; i++) {
		struct slice one = slice_cut(&rest, ';');
		struct dns_search_list list;
		struct arena arena;
		char err[512];
		arena_init(&arena);
		if (dns_search_list_parse(one, &arena, &list, ERR_TEXT(err)) == 0)
			fn(further, list.id, one);
		arena_done(&arena);
	}
}

static void set_further_list(const struct further_lists *further, const char *id,
			     const struct slice *list)
{
	CLEANUP(freep) char *key = xasprintf("%s/%s", further->ns, id);
	char err[512];
	kubernetes_search_lists_set(
		kubernetes_index_lists(further->index), slice_of(key),
		list != NULL ? kubernetes_search_list_parse(slice_of(key), *list, ERR_TEXT(err))
			     : NULL);
}

static void add_list(struct further_lists *further, const char *id, struct slice list)
{
	set_further_list(further, id, &list);
}

static void compare_list(struct further_lists *further, const char *id, struct slice list)
{
	(void)list;
	further->is_found = further->is_found || strcmp(id, further->id) == 0;
}

/* A list that stays is never missing, not even for a moment. */
static void remove_list(struct further_lists *further, const char *id, struct slice list)
{
	(void)list;
	further->id = id;
	further->is_found = false;
	each_further_list(further, further->kept, compare_list);
	further->id = NULL; /* its text is the caller's */
	if (!further->is_found)
		set_further_list(further, id, NULL);
}

static const char *annotation_of(const struct kube_obj *ns, const char *key)
{
	return ns != NULL ? api_annotation(kube_tree_of(ns), key) : NULL;
}

void kubernetes_set_search_lists(struct kubernetes_index *index, const struct kube_obj *old,
				 const struct kube_obj *now)
{
	const char *ns = now != NULL ? now->name : old->name;
	const char *before = annotation_of(old, KUBERNETES_SEARCH_LISTS_KEY);
	const char *after = annotation_of(now, KUBERNETES_SEARCH_LISTS_KEY);
	set_own_list(index, ns, annotation_of(now, KUBERNETES_SEARCH_LIST_KEY));
	if (before != NULL && after != NULL && strcmp(before, after) == 0)
		return;
	struct further_lists further = { .index = index, .ns = ns, .kept = after };
	each_further_list(&further, after, add_list);
	each_further_list(&further, before, remove_list);
}
