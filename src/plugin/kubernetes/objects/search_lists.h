/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Search lists of namespaces, for the plugin `searchpath`: the annotation dns.fairlead.dev/search
 * of a Namespace, and the lists of dns.fairlead.dev/search-lists, found by the namespace's name and by an id that is made of the list alone
 * (dns/search_list.h). Control threads write, workers read under RCU. */
#pragma once

#include "base/arena.h"
#include "base/err_text.h"
#include "base/rcu/rcu.h"
#include "base/rcu/rcutable.h"
#include "base/slice.h"
#include "dns/search_list.h"

#define KUBERNETES_SEARCH_LIST_KEY "dns.fairlead.dev/search"
/* Further lists of a Namespace, separated by semicolons, found by their ids alone: the controller
 * `poddns` writes them. */
#define KUBERNETES_SEARCH_LISTS_KEY "dns.fairlead.dev/search-lists"

enum { KUBERNETES_SEARCH_LISTS_MAX = 8 }; /* of that annotation; what is more is ignored */

struct kubernetes_search_list {
	struct rcutable_node by_ns, by_id;
	struct rcu_item rcu;
	struct arena memory; /* of the members below */
	struct dns_search_list list;
	const char *ns;
};

struct kubernetes_search_lists;
struct kubernetes_search_lists *kubernetes_search_lists_new(void);
/* When no worker can see it any more. */
void kubernetes_search_lists_free(struct kubernetes_search_lists *lists);

/* Names between blanks or commas; NULL, with a reason in `err`, when one of them is none or there
 * are too many or none at all. */
struct kubernetes_search_list *kubernetes_search_list_parse(struct slice ns, struct slice text,
							    struct err_text err);

/* Replaces the namespace's list by `list`, which is taken over; NULL removes it. The old one is
 * freed when no reader can see it. Control threads only (a lock orders them). */
void kubernetes_search_lists_set(struct kubernetes_search_lists *lists, struct slice ns,
				 struct kubernetes_search_list *list);
/* The list, borrowed until the reader's RCU section ends; NULL when there is none. Any thread. */
const struct kubernetes_search_list *kubernetes_search_lists_by_id(
	const struct kubernetes_search_lists *lists, struct slice id);
const struct kubernetes_search_list *kubernetes_search_lists_by_ns(
	const struct kubernetes_search_lists *lists, struct slice ns);
