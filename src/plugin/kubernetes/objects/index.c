/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The index: tables of entries, addresses and namespaces under one writers' lock. Nodes of an
 * object's addresses are made in one block, which goes when the object is replaced. */
#include "plugin/kubernetes/objects/index.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "plugin/kubernetes/objects/search_lists.h"

/* A namespace and a name of Kubernetes; what is longer finds nothing. */
enum { KEY_MAX_BYTES = 2 * 256 };

struct kubernetes_index {
	pthread_mutex_t lock; /* guards writing to all below */
	struct rcutable entries;
	struct rcutable service_ips, external_ips, endpoint_ips, pod_ips;
	struct rcutable namespaces;
	struct kubernetes_search_lists *lists;
	struct kubernetes_index_stats stats;
	_Atomic uint32_t serial;
};

/* The addresses of an object, in steps of `stride` bytes. */
struct ip_list {
	const struct kube_ip *first;
	uint32_t stride, n;
};

/* An object's nodes: number `own` is that of its address of that number. */
struct ip_block {
	struct rcu_item rcu;
	struct kube_obj *o; /* held */
	struct ip_list ips;
	struct rcutable_node node[];
};

struct namespace_node {
	struct rcutable_node node;
	struct rcu_item rcu;
	size_t n;
	char name[];
};

static bool same_text(const char *text, size_t len, struct slice word)
{
	return len == word.n && memcmp(text, word.p, len) == 0;
}

static uint32_t hash_name(struct slice ns, struct slice name)
{
	char key[KEY_MAX_BYTES];
	if (ns.n + name.n >= sizeof(key))
		return 0;
	memcpy(key, ns.p, ns.n);
	key[ns.n] = '/';
	memcpy(key + ns.n + 1, name.p, name.n);
	return (uint32_t)hash_bytes(hash_process_key(), key, ns.n + 1 + name.n);
}

static uint32_t hash_ip(const struct kube_ip *ip)
{
	return (uint32_t)hash_bytes(hash_process_key(), ip->b, sizeof(ip->b));
}

struct kubernetes_index *kubernetes_index_new(void)
{
	struct kubernetes_index *x = xcalloc(1, sizeof(*x));
	pthread_mutex_init(&x->lock, NULL);
	rcutable_init(&x->entries);
	rcutable_init(&x->service_ips);
	rcutable_init(&x->external_ips);
	rcutable_init(&x->endpoint_ips);
	rcutable_init(&x->pod_ips);
	rcutable_init(&x->namespaces);
	x->lists = kubernetes_search_lists_new();
	return x;
}

/* Seconds since 1970, as a zone's serial. */
static void update_serial(struct kubernetes_index *index)
{
	atomic_store_explicit(&index->serial, (uint32_t)(clock_wall_ns() / NS_PER_S),
			      memory_order_relaxed);
}

uint32_t kubernetes_index_serial(const struct kubernetes_index *index)
{
	return atomic_load_explicit(&index->serial, memory_order_relaxed);
}

/* ---- addresses ---- */

static const struct kube_ip *ip_at(const struct ip_list *list, uint32_t index)
{
	return (const struct kube_ip *)(const void *)((const char *)list->first +
						      (size_t)index * list->stride);
}

static struct ip_block *block_of(struct rcutable_node *node)
{
	return CONTAINER_OF(node - node->own, struct ip_block, node);
}

static const struct kube_ip *ip_of(struct rcutable_node *node)
{
	return ip_at(&block_of(node)->ips, node->own);
}

static bool same_ip(const struct kube_ip *left, const struct kube_ip *right)
{
	return memcmp(left, right, sizeof(*left)) == 0;
}

static struct rcutable_node *find_ip(const struct rcutable *rcutable, const struct kube_ip *ip,
				     struct rcutable_cursor *cursor)
{
	struct rcutable_node *n = rcutable_find(rcutable, hash_ip(ip), cursor);
	while (n != NULL && !same_ip(ip_of(n), ip))
		n = rcutable_next(cursor, n);
	return n;
}

static struct rcutable_node *next_ip(const struct rcutable_cursor *cursor,
				     struct rcutable_node *last)
{
	struct rcutable_node *n = rcutable_next(cursor, last);
	while (n != NULL && !same_ip(ip_of(n), ip_of(last)))
		n = rcutable_next(cursor, n);
	return n;
}

/* The block of an object; every object with addresses has one. */
static struct ip_block *find_block(const struct rcutable *rcutable, const struct kube_obj *obj,
				   const struct ip_list *list)
{
	struct rcutable_cursor c;
	if (obj == NULL || list->n == 0)
		return NULL;
	struct rcutable_node *n = find_ip(rcutable, ip_at(list, 0), &c);
	while (n != NULL && block_of(n)->o != obj)
		n = next_ip(&c, n);
	return n != NULL ? block_of(n) : NULL;
}

static struct ip_block *new_block(struct kube_obj *obj, const struct ip_list *list)
{
	if (obj == NULL || list->n == 0)
		return NULL;
	struct ip_block *b = xcalloc(1, sizeof(*b) + list->n * sizeof(b->node[0]));
	b->o = kube_obj_ref(obj);
	b->ips = *list;
	for (uint32_t i = 0; i < list->n; i++)
		b->node[i].own = i;
	return b;
}

static void free_block(struct rcu_item *item)
{
	struct ip_block *b = CONTAINER_OF(item, struct ip_block, rcu);
	kube_obj_unref(b->o);
	free(b);
}

struct ip_change {
	struct kube_obj *old, *now; /* one may be NULL */
	struct ip_list old_ips, now_ips;
	bool newest_first;
};

/* An address that stays keeps its place among others that are equal. */
static void change_ips(struct rcutable *rcutable, const struct ip_change *change)
{
	struct ip_block *old = find_block(rcutable, change->old, &change->old_ips);
	struct ip_block *now = new_block(change->now, &change->now_ips);
	assert(old != NULL || change->old == NULL || change->old_ips.n == 0);
	uint32_t n_old = old != NULL ? change->old_ips.n : 0,
		 n_now = now != NULL ? change->now_ips.n : 0;
	for (uint32_t i = 0; i < n_now; i++) {
		struct rcutable_node *n = &now->node[i];
		const struct kube_ip *ip = ip_of(n);
		if (i < n_old && same_ip(ip_of(&old->node[i]), ip))
			rcutable_replace(rcutable, &old->node[i], n);
		else if (change->newest_first)
			rcutable_add_first(rcutable, n, hash_ip(ip));
		else
			rcutable_add(rcutable, n, hash_ip(ip));
	}
	for (uint32_t i = 0; i < n_old; i++) {
		if (i >= n_now || !same_ip(ip_of(&old->node[i]), ip_of(&now->node[i])))
			rcutable_remove(rcutable, &old->node[i]);
	}
	if (old != NULL)
		rcu_defer(&old->rcu, free_block);
}

/* ---- entries ---- */

static struct kubernetes_entry *entry_of(struct rcutable_node *node)
{
	return CONTAINER_OF(node, struct kubernetes_entry, node);
}

static struct kubernetes_entry *find_entry(const struct kubernetes_index *index, struct slice ns,
					   struct slice name)
{
	struct rcutable_cursor c;
	struct rcutable_node *n = rcutable_find(&index->entries, hash_name(ns, name), &c);
	for (; n != NULL; n = rcutable_next(&c, n)) {
		struct kubernetes_entry *e = entry_of(n);
		if (same_text(e->ns, e->n_ns, ns) && same_text(e->name, e->n_name, name))
			return e;
	}
	return NULL;
}

static void free_entry(struct rcu_item *item)
{
	struct kubernetes_entry *e = CONTAINER_OF(item, struct kubernetes_entry, rcu);
	if (e->service != NULL)
		kube_obj_unref((struct kube_obj *)(uintptr_t)&e->service->o);
	for (uint32_t i = 0; i < e->n_slices; i++)
		kube_obj_unref((struct kube_obj *)(uintptr_t)&e->slices[i]->o);
	free(e);
}

/* What an entry is made of. */
struct parts {
	struct kube_obj *service;
	const struct kube_slice *const *slices; /* of the entry before */
	uint32_t n_slices;
	const struct kube_obj *drop; /* left out of them */
	struct kube_obj *add;	     /* put among them */
};

static void put_slice(struct kubernetes_entry *entry, const struct kube_obj *obj)
{
	kube_obj_ref((struct kube_obj *)(uintptr_t)obj);
	entry->slices[entry->n_slices++] = kube_slice_of(obj);
}

static struct kubernetes_entry *build_entry(const struct parts *parts, struct slice ns,
					    struct slice name)
{
	struct kubernetes_entry *e =
		xcalloc(1, sizeof(*e) + (parts->n_slices + 1) * sizeof(e->slices[0]));
	const struct kube_obj *add = parts->add;
	if (parts->service != NULL)
		e->service = kube_service_of(kube_obj_ref(parts->service));
	for (uint32_t i = 0; i < parts->n_slices; i++) {
		const struct kube_obj *o = &parts->slices[i]->o;
		if (add != NULL && strcmp(add->name, o->name) < 0) {
			put_slice(e, add);
			add = NULL;
		}
		if (o != parts->drop)
			put_slice(e, o);
	}
	if (add != NULL)
		put_slice(e, add);
	assert(e->n_slices <= parts->n_slices + 1);
	/* Texts of what the entry itself holds. */
	const struct kube_slice *s = e->n_slices != 0 ? e->slices[0] : NULL;
	e->ns = e->service != NULL ? e->service->o.ns : s != NULL ? s->o.ns : "";
	e->name = e->service != NULL ? e->service->o.name : s != NULL ? s->service : "";
	assert(ns.n <= UINT8_MAX && name.n <= UINT8_MAX); /* see is_unusable */
	e->n_ns = (uint8_t)ns.n;
	e->n_name = (uint8_t)name.n;
	return e;
}

static void set_entry(struct kubernetes_index *index, struct kubernetes_entry *old,
		      const struct parts *parts, struct slice ns, struct slice name)
{
	struct kubernetes_entry *e = build_entry(parts, ns, name);
	bool empty = e->service == NULL && e->n_slices == 0;
	if (empty && old != NULL)
		rcutable_remove(&index->entries, &old->node);
	else if (!empty && old != NULL)
		rcutable_replace(&index->entries, &old->node, &e->node);
	else if (!empty)
		rcutable_add(&index->entries, &e->node, hash_name(ns, name));
	if (empty)
		free(e);
	if (old != NULL)
		rcu_defer(&old->rcu, free_entry);
	index->stats.entries = index->entries.n;
}

/* A name that no question can hold. */
static bool is_unusable(struct slice ns, struct slice name)
{
	return ns.n == 0 || ns.n > 255 || name.n == 0 || name.n > 255;
}

/* ---- Services ---- */

static bool same_port(const struct kube_port *left, const struct kube_port *right)
{
	return left->port == right->port && strcmp(left->name, right->name) == 0 &&
	       strcmp(left->protocol, right->protocol) == 0;
}

static bool same_ports(const struct kube_port *left, uint32_t n_a, const struct kube_port *right,
		       uint32_t n_b)
{
	for (uint32_t i = 0; n_a == n_b && i < n_a; i++) {
		if (!same_port(&left[i], &right[i]))
			return false;
	}
	return n_a == n_b;
}

static bool same_external(const struct kube_service *left, const struct kube_service *right)
{
	for (uint32_t i = 0; left->n_external == right->n_external && i < left->n_external; i++) {
		if (strcmp(left->external[i], right->external[i]) != 0)
			return false;
	}
	return left->n_external == right->n_external;
}

/* Would answers be the same? */
static bool same_service(const struct kube_obj *left, const struct kube_obj *right)
{
	if (left == NULL || right == NULL)
		return false;
	const struct kube_service *s = kube_service_of(left), *t = kube_service_of(right);
	return s->type == t->type && s->headless == t->headless && s->n_ips == t->n_ips &&
	       memcmp(s->ips, t->ips, s->n_ips * sizeof(*s->ips)) == 0 &&
	       strcmp(s->external_name, t->external_name) == 0 && same_external(s, t) &&
	       same_ports(s->ports, s->n_ports, t->ports, t->n_ports);
}

static struct ip_list service_ips(const struct kube_obj *obj)
{
	const struct kube_service *s = obj != NULL ? kube_service_of(obj) : NULL;
	return s != NULL ? (struct ip_list){ s->ips, sizeof(*s->ips), s->n_ips }
			 : (struct ip_list){ 0 };
}

static struct ip_list external_ips(const struct kube_obj *obj)
{
	const struct kube_service *s = obj != NULL ? kube_service_of(obj) : NULL;
	return s != NULL ? (struct ip_list){ s->external_ips, sizeof(*s->external_ips),
					     s->n_external_ips }
			 : (struct ip_list){ 0 };
}

void kubernetes_index_service(struct kubernetes_index *index, struct kube_obj *old,
			      struct kube_obj *now)
{
	const struct kube_obj *o = now != NULL ? now : old;
	struct slice ns = slice_of(o->ns), name = slice_of(o->name);
	if (is_unusable(ns, name))
		return;
	pthread_mutex_lock(&index->lock);
	struct kubernetes_entry *e = find_entry(index, ns, name);
	struct parts p = { .service = now };
	if (e != NULL) {
		p.slices = e->slices;
		p.n_slices = e->n_slices;
	}
	set_entry(index, e, &p, ns, name);
	change_ips(&index->service_ips, &(struct ip_change){ .old = old,
							     .now = now,
							     .old_ips = service_ips(old),
							     .now_ips = service_ips(now) });
	change_ips(&index->external_ips, &(struct ip_change){ .old = old,
							      .now = now,
							      .old_ips = external_ips(old),
							      .now_ips = external_ips(now) });
	assert(old == NULL || index->stats.services != 0);
	index->stats.services += now != NULL;
	index->stats.services -= old != NULL;
	if (!same_service(old, now))
		update_serial(index);
	pthread_mutex_unlock(&index->lock);
}

/* ---- EndpointSlices ---- */

static bool same_endpoints(const struct kube_obj *left, const struct kube_obj *right)
{
	if (left == NULL || right == NULL)
		return false;
	const struct kube_slice *s = kube_slice_of(left), *t = kube_slice_of(right);
	if (s->n_endpoints != t->n_endpoints || strcmp(s->service, t->service) != 0 ||
	    !same_ports(s->ports, s->n_ports, t->ports, t->n_ports))
		return false;
	for (uint32_t i = 0; i < s->n_endpoints; i++) {
		const struct kube_endpoint *e = &s->endpoints[i], *f = &t->endpoints[i];
		if (!same_ip(&e->ip, &f->ip) || strcmp(e->zone, f->zone) != 0 ||
		    strcmp(kube_slice_text(s, e->hostname), kube_slice_text(t, f->hostname)) != 0 ||
		    strcmp(kube_slice_text(s, e->target), kube_slice_text(t, f->target)) != 0)
			return false;
	}
	return true;
}

static struct ip_list slice_ips(const struct kube_obj *obj)
{
	const struct kube_slice *s = obj != NULL ? kube_slice_of(obj) : NULL;
	return s != NULL && s->n_endpoints != 0
		       ? (struct ip_list){ &s->endpoints[0].ip, sizeof(s->endpoints[0]),
					   s->n_endpoints }
		       : (struct ip_list){ 0 };
}

/* One slice in or out of the entry of its Service. */
static void change_slice(struct kubernetes_index *index, const struct kube_obj *drop,
			 struct kube_obj *add)
{
	const struct kube_slice *s = kube_slice_of(add != NULL ? add : drop);
	struct slice ns = slice_of(s->o.ns), name = slice_of(s->service);
	if (is_unusable(ns, name))
		return;
	struct kubernetes_entry *e = find_entry(index, ns, name);
	struct parts p = { .drop = drop, .add = add };
	if (e != NULL) {
		p.service =
			e->service != NULL ? (struct kube_obj *)(uintptr_t)&e->service->o : NULL;
		p.slices = e->slices;
		p.n_slices = e->n_slices;
	}
	set_entry(index, e, &p, ns, name);
}

void kubernetes_index_slice(struct kubernetes_index *index, struct kube_obj *old,
			    struct kube_obj *now)
{
	bool moved = old != NULL && now != NULL &&
		     strcmp(kube_slice_of(old)->service, kube_slice_of(now)->service) != 0;
	struct ip_change c = {
		.old = old, .now = now, .old_ips = slice_ips(old), .now_ips = slice_ips(now)
	};
	pthread_mutex_lock(&index->lock);
	if (moved)
		change_slice(index, old, NULL);
	change_slice(index, moved ? NULL : old, now);
	change_ips(&index->endpoint_ips, &c);
	assert(old == NULL || index->stats.slices != 0);
	index->stats.slices += now != NULL;
	index->stats.slices -= old != NULL;
	index->stats.endpoints = index->endpoint_ips.n;
	if (!same_endpoints(old, now))
		update_serial(index);
	pthread_mutex_unlock(&index->lock);
}

/* ---- pods and namespaces ---- */

static struct ip_list pod_ips(const struct kube_obj *obj)
{
	const struct kube_pod *p = obj != NULL ? kube_pod_of(obj) : NULL;
	return p != NULL ? (struct ip_list){ p->ips, sizeof(*p->ips), p->n_ips }
			 : (struct ip_list){ 0 };
}

void kubernetes_index_pod(struct kubernetes_index *index, struct kube_obj *old,
			  struct kube_obj *now)
{
	pthread_mutex_lock(&index->lock);
	change_ips(&index->pod_ips, &(struct ip_change){ .old = old,
							 .now = now,
							 .old_ips = pod_ips(old),
							 .now_ips = pod_ips(now),
							 .newest_first = true });
	assert(old == NULL || index->stats.pods != 0);
	index->stats.pods += now != NULL;
	index->stats.pods -= old != NULL;
	pthread_mutex_unlock(&index->lock);
}

static struct namespace_node *find_namespace(const struct kubernetes_index *index,
					     struct slice name)
{
	struct rcutable_cursor c;
	struct rcutable_node *n =
		rcutable_find(&index->namespaces, hash_name((struct slice){ "", 0 }, name), &c);
	for (; n != NULL; n = rcutable_next(&c, n)) {
		struct namespace_node *found = CONTAINER_OF(n, struct namespace_node, node);
		if (same_text(found->name, found->n, name))
			return found;
	}
	return NULL;
}

static void free_namespace(struct rcu_item *item)
{
	free(CONTAINER_OF(item, struct namespace_node, rcu));
}

void kubernetes_index_namespace(struct kubernetes_index *index, struct slice name, bool there)
{
	pthread_mutex_lock(&index->lock);
	struct namespace_node *n = find_namespace(index, name);
	if (there && n == NULL) {
		n = xcalloc(1, sizeof(*n) + name.n + 1);
		n->n = name.n;
		memcpy(n->name, name.p, name.n);
		rcutable_add(&index->namespaces, &n->node,
			     hash_name((struct slice){ "", 0 }, name));
	} else if (!there && n != NULL) {
		rcutable_remove(&index->namespaces, &n->node);
		rcu_defer(&n->rcu, free_namespace);
	}
	index->stats.namespaces = index->namespaces.n;
	pthread_mutex_unlock(&index->lock);
}

/* ---- reading ---- */

const struct kubernetes_entry *kubernetes_index_find(const struct kubernetes_index *index,
						     struct slice ns, struct slice name)
{
	return find_entry(index, ns, name);
}

bool kubernetes_index_has_namespace(const struct kubernetes_index *index, struct slice name)
{
	return find_namespace(index, name) != NULL;
}

void kubernetes_index_each_by_ip(const struct kubernetes_index *index, const struct kube_ip *ip,
				 bool (*fn)(void *ctx, const struct kube_service *service),
				 void *ctx)
{
	struct rcutable_cursor c;
	struct rcutable_node *n = find_ip(&index->service_ips, ip, &c);
	while (n != NULL && fn(ctx, kube_service_of(block_of(n)->o)))
		n = next_ip(&c, n);
}

size_t kubernetes_index_by_external_ip(const struct kubernetes_index *index,
				       const struct kube_ip *ip, const struct kube_service **ret,
				       size_t max)
{
	struct rcutable_cursor c;
	size_t n = 0;
	for (struct rcutable_node *i = find_ip(&index->external_ips, ip, &c); i != NULL;
	     i = next_ip(&c, i)) {
		if (n < max)
			ret[n] = kube_service_of(block_of(i)->o);
		n++;
	}
	return n;
}

size_t kubernetes_index_endpoints(const struct kubernetes_index *index, const struct kube_ip *ip,
				  struct kubernetes_endpoint_ref *ret, size_t max)
{
	struct rcutable_cursor c;
	size_t n = 0;
	for (struct rcutable_node *i = find_ip(&index->endpoint_ips, ip, &c); i != NULL;
	     i = next_ip(&c, i)) {
		if (n < max)
			ret[n] = (struct kubernetes_endpoint_ref){ kube_slice_of(block_of(i)->o),
								   i->own };
		n++;
	}
	return n;
}

const struct kube_pod *kubernetes_index_pod_by_ip(const struct kubernetes_index *index,
						  const struct kube_ip *ip)
{
	struct rcutable_cursor c;
	struct rcutable_node *n = find_ip(&index->pod_ips, ip, &c);
	return n != NULL ? kube_pod_of(block_of(n)->o) : NULL;
}

const struct kube_pod *kubernetes_index_pod_in(const struct kubernetes_index *index,
					       const struct kube_ip *ip, struct slice ns)
{
	struct rcutable_cursor c;
	for (struct rcutable_node *n = find_ip(&index->pod_ips, ip, &c); n != NULL;
	     n = next_ip(&c, n)) {
		if (slice_eq(slice_of(block_of(n)->o->ns), ns))
			return kube_pod_of(block_of(n)->o);
	}
	return NULL;
}

const char *kubernetes_index_pod_namespace(const struct kubernetes_index *index,
					   const struct kube_ip *ip)
{
	struct rcutable_cursor c;
	const char *ns = NULL;
	for (struct rcutable_node *n = find_ip(&index->pod_ips, ip, &c); n != NULL;
	     n = next_ip(&c, n)) {
		const struct kube_pod *p = kube_pod_of(block_of(n)->o);
		if (p->host_network || (ns != NULL && strcmp(p->o.ns, ns) != 0))
			return NULL;
		ns = p->o.ns;
	}
	return ns;
}

void kubernetes_index_each(struct kubernetes_index *index,
			   bool (*fn)(void *ctx, const struct kubernetes_entry *entry), void *ctx)
{
	size_t pos = 0;
	struct rcutable_node *n = NULL;
	pthread_mutex_lock(&index->lock);
	while ((n = rcutable_walk(&index->entries, &pos, n)) != NULL && fn(ctx, entry_of(n))) {
	}
	pthread_mutex_unlock(&index->lock);
}

struct kubernetes_search_lists *kubernetes_index_lists(const struct kubernetes_index *index)
{
	return index->lists;
}

enum kubernetes_service_kind kubernetes_index_kind(struct kubernetes_index *index, struct slice ns,
						   struct slice name)
{
	enum kubernetes_service_kind kind = KUBERNETES_KIND_NONE;
	pthread_mutex_lock(&index->lock);
	const struct kubernetes_entry *e = find_entry(index, ns, name);
	if (e != NULL && e->service != NULL)
		kind = e->service->headless ? KUBERNETES_KIND_HEADLESS : KUBERNETES_KIND_CLUSTER_IP;
	pthread_mutex_unlock(&index->lock);
	return kind;
}

void kubernetes_index_stats(struct kubernetes_index *index, struct kubernetes_index_stats *ret)
{
	pthread_mutex_lock(&index->lock);
	*ret = index->stats;
	pthread_mutex_unlock(&index->lock);
}

/* ---- the end ---- */

/* Every block has one node that is its first. */
static void free_blocks(struct rcutable *rcutable)
{
	VEC(struct ip_block *) blocks = { 0 };
	size_t pos = 0;
	for (struct rcutable_node *n = NULL; (n = rcutable_walk(rcutable, &pos, n)) != NULL;) {
		if (n->own == 0)
			vec_push(&blocks, block_of(n));
	}
	for (size_t i = 0; i < blocks.n; i++)
		free_block(&blocks.v[i]->rcu);
	vec_done(&blocks);
	rcutable_done(rcutable);
}

static void free_nodes(struct rcutable *rcutable, void (*free_one)(struct rcutable_node *node))
{
	size_t pos = 0;
	struct rcutable_node *n = rcutable_walk(rcutable, &pos, NULL);
	while (n != NULL) {
		struct rcutable_node *next = rcutable_walk(rcutable, &pos, n);
		free_one(n);
		n = next;
	}
	rcutable_done(rcutable);
}

static void free_entry_node(struct rcutable_node *node)
{
	free_entry(&entry_of(node)->rcu);
}

static void free_namespace_node(struct rcutable_node *node)
{
	free(CONTAINER_OF(node, struct namespace_node, node));
}

void kubernetes_index_free(struct kubernetes_index *index)
{
	if (index == NULL)
		return;
	free_nodes(&index->entries, free_entry_node);
	free_nodes(&index->namespaces, free_namespace_node);
	free_blocks(&index->service_ips);
	free_blocks(&index->external_ips);
	free_blocks(&index->endpoint_ips);
	free_blocks(&index->pod_ips);
	kubernetes_search_lists_free(index->lists);
	pthread_mutex_destroy(&index->lock);
	free(index);
}
