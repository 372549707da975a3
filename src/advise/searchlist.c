/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Search lists: the three domains of a cluster, and the ones of its nodes as the log shows them. */
#include "advise/searchlist.h"

#include <assert.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/vec.h"

enum { CLUSTER_DOMAINS = 3 };

void advise_searchlist_init(struct advise_list *list, struct slice ns, struct slice zone,
			    struct arena *arena)
{
	const char *text =
		arena_printf(arena, "%.*s.svc.%.*s", (int)ns.n, ns.p, (int)zone.n, zone.p);
	list->domain[0] = slice_of(text);
	list->domain[1] = slice_from(list->domain[0], ns.n + 1);
	list->domain[2] = slice_from(list->domain[1], 4);
	list->n = CLUSTER_DOMAINS;
}

bool advise_searchlist_has(const struct advise_list *list, struct slice domain)
{
	for (size_t i = 0; i < list->n; i++) {
		if (slice_eq(list->domain[i], domain))
			return true;
	}
	return false;
}

/* Whether a look-up found nothing in the cluster's domains, so that it went on. */
static bool is_exhausted(const struct advise_list *list, const struct advise_client *client,
			 struct slice base)
{
	for (size_t i = 0; i < CLUSTER_DOMAINS; i++) {
		const struct advise_fact *fact = advise_trace_fact(client, base, list->domain[i]);
		if (fact == NULL || ((fact->seen[0] | fact->seen[1] | fact->seen[2]) &
				     (ADVISE_DATA | ADVISE_NOERROR)) != 0)
			return false;
	}
	return true;
}

struct domain_count {
	struct slice domain;
	size_t bases;
};

struct domain_counts {
	struct map by_domain;
	VEC(struct domain_count *) list;
	size_t exhausted;
};

static void count_domain(struct domain_counts *counts, struct slice domain, struct arena *arena)
{
	struct domain_count *count = map_get(&counts->by_domain, domain);
	if (count == NULL) {
		count = arena_calloc(arena, sizeof(*count));
		count->domain =
			(struct slice){ arena_strndup(arena, domain.p, domain.n), domain.n };
		map_set(&counts->by_domain, domain, count);
		vec_push(&counts->list, count);
	}
	count->bases++;
}

/* A name that begins with the base of a look-up that went on: what follows may be a domain. */
static void count_domains_of_name(struct domain_counts *counts, const struct advise_list *list,
				  const struct advise_client *client, struct slice name,
				  struct arena *arena)
{
	for (size_t i = 1; i + 1 < name.n; i++) {
		struct slice domain = slice_from(name, i + 1);
		if (name.p[i] != '.' || !is_exhausted(list, client, (struct slice){ name.p, i }))
			continue;
		if (slice_eq(domain, list->domain[0]))
			counts->exhausted++;
		else if (!advise_searchlist_has(list, domain))
			count_domain(counts, domain, arena);
	}
}

static int compare_counts(const void *left, const void *right)
{
	const struct domain_count *l = *(struct domain_count *const *)left;
	const struct domain_count *r = *(struct domain_count *const *)right;
	if (l->bases != r->bases)
		return l->bases > r->bases ? -1 : 1;
	return slice_cmp(l->domain, r->domain);
}

void advise_searchlist_infer(struct advise_list *list, const struct advise_client *const *clients,
			     size_t n_clients, struct arena *arena)
{
	struct domain_counts counts = { 0 };
	assert(list->n == CLUSTER_DOMAINS);
	map_init(&counts.by_domain);
	for (size_t i = 0; i < n_clients; i++) {
		size_t pos = 0;
		for (const struct map_entry *e; (e = map_next(&clients[i]->names, &pos)) != NULL;)
			count_domains_of_name(&counts, list, clients[i],
					      (struct slice){ e->key, e->key_n }, arena);
	}
	if (counts.list.n > 1)
		qsort(counts.list.v, counts.list.n, sizeof(*counts.list.v), compare_counts);
	for (size_t i = 0; i < counts.list.n && list->n < ADVISE_LIST_MAX &&
			   counts.list.v[i]->bases * 2 > counts.exhausted;
	     i++)
		list->domain[list->n++] = counts.list.v[i]->domain;
	vec_done(&counts.list);
	map_done(&counts.by_domain);
}
