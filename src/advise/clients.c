/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Guesses the namespaces of clients. The label before `svc.ZONE` is one that might be; it is one for
 * sure when walks go on from there, and are no part of the walks of another. */
#include "advise/clients.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* A namespace that a client might belong to. */
struct candidate {
	struct slice label;
	struct slice domain; /* LABEL.svc.ZONE */
	size_t walks;	     /* that went on to svc.ZONE */
};

struct candidates {
	struct map by_label;
	VEC(struct candidate *) list;
	struct arena arena;
	struct slice svc_zone, zone;
};

/* The namespace in BASE.NAMESPACE.domain; empty with p NULL when the name is no such. */
static struct slice cut_namespace(struct slice name, struct slice domain)
{
	struct slice text = advise_trace_base(name, domain);
	size_t dot = text.n;
	while (dot > 0 && text.p[dot - 1] != '.')
		dot--;
	if (dot < 2 || !advise_line_is_namespace(slice_from(text, dot)))
		return (struct slice){ NULL, 0 };
	return slice_from(text, dot);
}

static struct candidate *find_or_add_candidate(struct candidates *found, struct slice label)
{
	struct candidate *candidate = map_get(&found->by_label, label);
	if (candidate != NULL)
		return candidate;
	candidate = arena_calloc(&found->arena, sizeof(*candidate));
	char *domain = arena_printf(&found->arena, "%.*s.%.*s", (int)label.n, label.p,
				    (int)found->svc_zone.n, found->svc_zone.p);
	candidate->domain = slice_of(domain);
	candidate->label = (struct slice){ domain, label.n };
	map_set(&found->by_label, label, candidate);
	vec_push(&found->list, candidate);
	return candidate;
}

static unsigned all_outcomes(const struct advise_fact *fact)
{
	return (unsigned)(fact->seen[0] | fact->seen[1] | fact->seen[2]);
}

/* Whether a walk went through this name and on to the next domain. */
static bool is_continued(const struct advise_client *client, const struct advise_fact *fact,
			 struct slice base, struct slice next)
{
	return (all_outcomes(fact) & (ADVISE_NXDOMAIN | ADVISE_NODATA | ADVISE_SERVFAIL)) != 0 &&
	       advise_trace_fact(client, base, next) != NULL;
}

/* Whether the name is a later part of a walk that began at `first`. */
static bool is_part_of_walk(const struct advise_client *client, const struct candidates *found,
			    struct slice name, struct slice first)
{
	const struct slice later[] = { found->svc_zone, found->zone };
	for (size_t i = 0; i < ARRAY_LEN(later); i++) {
		struct slice base = advise_trace_base(name, later[i]);
		if (base.n > 0 && advise_trace_fact(client, base, first) != NULL)
			return true;
	}
	return advise_trace_fact(client, name, first) != NULL;
}

static void collect_candidates(const struct advise_client *client, struct candidates *found)
{
	size_t pos = 0;
	for (const struct map_entry *e; (e = map_next(&client->names, &pos)) != NULL;) {
		struct slice name = { e->key, e->key_n };
		struct slice label = cut_namespace(name, found->svc_zone);
		if (label.n == 0)
			continue;
		struct candidate *candidate = find_or_add_candidate(found, label);
		struct slice base = advise_trace_base(name, candidate->domain);
		candidate->walks += is_continued(client, e->value, base, found->svc_zone);
	}
}

/* Whether a name below this candidate's domain is part of no walk of the client's namespaces. Of
 * interest are all names, or only those with walks of their own. */
static bool has_own_name(const struct advise_client *client, const struct candidates *found,
			 const struct candidate *candidate, bool continued_only)
{
	size_t pos = 0;
	for (const struct map_entry *e; (e = map_next(&client->names, &pos)) != NULL;) {
		struct slice name = { e->key, e->key_n };
		struct slice base = advise_trace_base(name, candidate->domain);
		bool is_own = base.n > 0 && (!continued_only ||
					     is_continued(client, e->value, base, found->svc_zone));
		for (size_t i = 0; is_own && i < found->list.n; i++)
			is_own = !map_has(&client->ns, found->list.v[i]->label) ||
				 !is_part_of_walk(client, found, name, found->list.v[i]->domain);
		if (is_own)
			return true;
	}
	return false;
}

static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *l = *(struct candidate *const *)left;
	const struct candidate *r = *(struct candidate *const *)right;
	if (l->walks != r->walks)
		return l->walks > r->walks ? -1 : 1;
	return slice_cmp(l->label, r->label);
}

static void add_virtual_namespaces(struct advise_client *client, struct slice search_zone)
{
	size_t pos = 0;
	for (const struct map_entry *e; (e = map_next(&client->names, &pos)) != NULL;) {
		struct slice label = cut_namespace((struct slice){ e->key, e->key_n }, search_zone);
		if (label.n > 0)
			map_set(&client->ns, label, client);
	}
}

static void place_client(struct advise_client *client, struct slice zone, struct slice svc_zone)
{
	struct candidates found = { .svc_zone = svc_zone, .zone = zone };
	map_init(&found.by_label);
	arena_init(&found.arena);
	collect_candidates(client, &found);
	if (found.list.n > 1)
		qsort(found.list.v, found.list.n, sizeof(*found.list.v), compare_candidates);
	for (size_t i = 0; i < found.list.n && found.list.v[i]->walks > 0; i++) {
		if (has_own_name(client, &found, found.list.v[i], true))
			map_set(&client->ns, found.list.v[i]->label, client);
	}
	for (size_t i = 0; i < found.list.n; i++) {
		const struct candidate *candidate = found.list.v[i];
		if (!map_has(&client->ns, candidate->label) &&
		    has_own_name(client, &found, candidate, false))
			map_set(&client->maybe_ns, candidate->label, client);
	}
	vec_done(&found.list);
	map_done(&found.by_label);
	arena_done(&found.arena);
}

void advise_clients_place(struct advise_trace *trace, struct slice zone)
{
	CLEANUP(strbuf_done) struct strbuf svc_zone = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf search_zone = STRBUF_INIT;
	size_t pos = 0;
	strbuf_addf(&svc_zone, "svc.%.*s", (int)zone.n, zone.p);
	strbuf_addf(&search_zone, "search.%.*s", (int)zone.n, zone.p);
	for (const struct map_entry *e; (e = map_next(&trace->clients, &pos)) != NULL;) {
		struct advise_client *client = e->value;
		if (client->logs_ns)
			continue;
		place_client(client, zone, strbuf_slice(&svc_zone));
		add_virtual_namespaces(client, strbuf_slice(&search_zone));
		/* The names that are missing may come from any namespace. */
		trace->incomplete |= client->incomplete;
	}
}
