/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search lists of namespaces (annotation dns.fairlead.dev/search) for the plugin
 * `searchpath`: a table by namespace and by id that workers read under RCU. */
#include "plugin/kubernetes/objects/search_lists.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/err_text.h"
#include "base/hash.h"
#include "base/mem.h"

struct kubernetes_search_lists {
	pthread_mutex_t lock; /* guards writing */
	struct rcutable by_ns, by_id;
};

static uint32_t hash_text(struct slice text)
{
	return (uint32_t)hash_bytes(hash_process_key(), text.p, text.n);
}

struct kubernetes_search_lists *kubernetes_search_lists_new(void)
{
	struct kubernetes_search_lists *l = xcalloc(1, sizeof(*l));
	pthread_mutex_init(&l->lock, NULL);
	rcutable_init(&l->by_ns);
	rcutable_init(&l->by_id);
	return l;
}

/* ---- one list ---- */

static void free_list(struct kubernetes_search_list *list)
{
	if (list == NULL)
		return;
	arena_done(&list->memory);
	free(list);
}

struct kubernetes_search_list *kubernetes_search_list_parse(struct slice ns, struct slice text,
							    struct err_text err)
{
	struct kubernetes_search_list *list = xcalloc(1, sizeof(*list));
	arena_init(&list->memory);
	list->ns = arena_strndup(&list->memory, ns.p, ns.n);
	if (dns_search_list_parse(text, &list->memory, &list->list, err) < 0) {
		free_list(list);
		return NULL;
	}
	return list;
}

/* ---- all of them ---- */

static struct kubernetes_search_list *from_ns_node(struct rcutable_node *node)
{
	return CONTAINER_OF(node, struct kubernetes_search_list, by_ns);
}

static struct kubernetes_search_list *find_ns(const struct kubernetes_search_lists *lists,
					      struct slice ns)
{
	struct rcutable_cursor c;
	struct rcutable_node *n = rcutable_find(&lists->by_ns, hash_text(ns), &c);
	while (n != NULL && !slice_eq(slice_of(from_ns_node(n)->ns), ns))
		n = rcutable_next(&c, n);
	return n != NULL ? from_ns_node(n) : NULL;
}

static void free_later(struct rcu_item *item)
{
	free_list(CONTAINER_OF(item, struct kubernetes_search_list, rcu));
}

void kubernetes_search_lists_set(struct kubernetes_search_lists *lists, struct slice ns,
				 struct kubernetes_search_list *list)
{
	assert(list == NULL || slice_eq(slice_of(list->ns), ns));
	pthread_mutex_lock(&lists->lock);
	struct kubernetes_search_list *old = find_ns(lists, ns);
	/* The new one is there before the old one goes: readers always find a list. */
	if (list != NULL) {
		rcutable_add(&lists->by_id, &list->by_id, hash_text(slice_of(list->list.id)));
		if (old != NULL)
			rcutable_replace(&lists->by_ns, &old->by_ns, &list->by_ns);
		else
			rcutable_add(&lists->by_ns, &list->by_ns, hash_text(ns));
	} else if (old != NULL) {
		rcutable_remove(&lists->by_ns, &old->by_ns);
	}
	if (old != NULL) {
		rcutable_remove(&lists->by_id, &old->by_id);
		rcu_defer(&old->rcu, free_later);
	}
	pthread_mutex_unlock(&lists->lock);
}

const struct kubernetes_search_list *kubernetes_search_lists_by_ns(
	const struct kubernetes_search_lists *lists, struct slice ns)
{
	return find_ns(lists, ns);
}

const struct kubernetes_search_list *kubernetes_search_lists_by_id(
	const struct kubernetes_search_lists *lists, struct slice id)
{
	struct rcutable_cursor c;
	struct rcutable_node *n = rcutable_find(&lists->by_id, hash_text(id), &c);
	for (; n != NULL; n = rcutable_next(&c, n)) {
		const struct kubernetes_search_list *found =
			CONTAINER_OF(n, struct kubernetes_search_list, by_id);
		if (slice_eq(slice_of(found->list.id), id))
			return found;
	}
	return NULL;
}

void kubernetes_search_lists_free(struct kubernetes_search_lists *lists)
{
	size_t pos = 0;
	if (lists == NULL)
		return;
	struct rcutable_node *n = rcutable_walk(&lists->by_ns, &pos, NULL);
	while (n != NULL) {
		struct rcutable_node *next = rcutable_walk(&lists->by_ns, &pos, n);
		free_list(from_ns_node(n));
		n = next;
	}
	rcutable_done(&lists->by_ns);
	rcutable_done(&lists->by_id);
	pthread_mutex_destroy(&lists->lock);
	free(lists);
}
