/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search lists of namespaces (annotation dns.fairlead.dev/search) for the plugin
 * `searchpath`: parses the annotation, computes a list's id, and keeps a table by namespace and
 * by id that workers read under RCU. */
#include "plugin/kubernetes/objects/search_lists.h"
#include "plugin/kubernetes/objects/search_lists_test.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err_text.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/crypto/digest.h"

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

static void set_id(struct kubernetes_search_list *list, struct slice canonical)
{
	uint8_t digest[DIGEST_SHA512_BYTES];
	digest_sha512(canonical.p, canonical.n, digest);
	list->id[0] = 'l';
	for (size_t i = 1; i < KUBERNETES_SEARCH_LIST_ID; i += 2)
		snprintf(list->id + i, sizeof(list->id) - i, "%02x", digest[i / 2]);
	list->id[KUBERNETES_SEARCH_LIST_ID] = '\0';
}

static bool is_blank(char ch)
{
	return ch == ' ' || ch == ',' || ch == '\t' || ch == '\n' || ch == '\r';
}

/* Cuts the next name off the text; without it there is no more. */
static struct slice next_word(struct slice *text)
{
	size_t a = 0, b;
	while (a < text->n && is_blank(text->p[a]))
		a++;
	for (b = a; b < text->n && !is_blank(text->p[b]); b++) {
	}
	struct slice word = { text->p + a, b - a };
	*text = (struct slice){ text->p + b, text->n - b };
	return word;
}

static bool add_name(struct kubernetes_search_list *list, struct slice word,
		     struct strbuf *canonical)
{
	uint8_t name[DNS_NAME_MAX];
	char text[DNS_NAME_TEXT_MAX];
	int n = dns_name_from_text(word, name);
	/* The root is walked anyway, last. */
	if (n < 2)
		return false;
	dns_name_lower(name, name);
	dns_name_to_text(name, false, text);
	/* Names are written without an escape for commas, which end a name in a list. */
	if (strchr(text, ',') != NULL)
		return false;
	assert(list->n < KUBERNETES_SEARCH_LIST_NAMES);
	list->name[list->n++] = xmemdup(name, (size_t)n);
	text[strlen(text) - 1] = '\0';
	strbuf_addf(canonical, "%s%s", canonical->n != 0 ? " " : "", text);
	return true;
}

void kubernetes_search_list_free(struct kubernetes_search_list *list)
{
	if (list == NULL)
		return;
	for (size_t i = 0; i < list->n; i++)
		free((void *)(uintptr_t)list->name[i]);
	free((void *)(uintptr_t)list->ns);
	free(list);
}

struct kubernetes_search_list *kubernetes_search_list_parse(struct slice ns, struct slice text,
							    struct err_text err)
{
	CLEANUP(strbuf_done) struct strbuf canonical = STRBUF_INIT;
	struct kubernetes_search_list *l = xcalloc(1, sizeof(*l));
	struct slice word = { NULL, 0 };
	bool good = text.n <= KUBERNETES_SEARCH_LIST_BYTES;
	if (!good)
		err_text_set(err, "longer than %d bytes", KUBERNETES_SEARCH_LIST_BYTES);
	while (good && (word = next_word(&text)).n != 0) {
		if (l->n == KUBERNETES_SEARCH_LIST_NAMES) {
			err_text_set(err, "more than %d names", KUBERNETES_SEARCH_LIST_NAMES);
			good = false;
		} else if (!add_name(l, word, &canonical)) {
			err_text_set(err, "'%.*s' is not a domain name", (int)word.n, word.p);
			good = false;
		}
	}
	if (good && l->n == 0) {
		err_text_set(err, "empty");
		good = false;
	}
	if (!good) {
		kubernetes_search_list_free(l);
		return NULL;
	}
	l->ns = xstrndup(ns.p, ns.n);
	set_id(l, strbuf_slice(&canonical));
	return l;
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
	kubernetes_search_list_free(CONTAINER_OF(item, struct kubernetes_search_list, rcu));
}

void kubernetes_search_lists_set(struct kubernetes_search_lists *lists, struct slice ns,
				 struct kubernetes_search_list *list)
{
	assert(list == NULL || slice_eq(slice_of(list->ns), ns));
	pthread_mutex_lock(&lists->lock);
	struct kubernetes_search_list *old = find_ns(lists, ns);
	/* The new one is there before the old one goes: readers always find a list. */
	if (list != NULL) {
		rcutable_add(&lists->by_id, &list->by_id, hash_text(slice_of(list->id)));
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
		if (slice_eq(slice_of(found->id), id))
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
		kubernetes_search_list_free(from_ns_node(n));
		n = next;
	}
	rcutable_done(&lists->by_ns);
	rcutable_done(&lists->by_id);
	pthread_mutex_destroy(&lists->lock);
	free(lists);
}
