/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Zones: which lies in which, and in what order the stanzas of templates must stand. */
#include "controller/dnsoperator/plan/zones.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "corefile/key.h"

bool dnsoperator_zone_has(const char *zone, const char *name)
{
	size_t nz = strlen(zone), nn = strlen(name);
	if (strcmp(zone, ".") == 0)
		return true;
	return nn >= nz && strcmp(name + nn - nz, zone) == 0 &&
	       (nn == nz || name[nn - nz - 1] == '.');
}

int dnsoperator_server_zones(const char *text, struct arena *arena, const char *const **ret,
			     size_t *ret_n)
{
	struct srcerr err;
	struct word w = { .s = text };
	return corefile_zones_expand(arena, &w, ret, ret_n, &err);
}

/* The zone of an entry that is a name, not a network; NULL. */
static const char *zone_of(const char *text, struct arena *arena)
{
	const char *const *zones;
	size_t n;
	if (dnsoperator_server_zones(text, arena, &zones, &n) < 0 || n != 1)
		return NULL;
	return strcmp(zones[0], ".") == 0 ? "."
					  : arena_strndup(arena, zones[0], strlen(zones[0]) - 1);
}

bool dnsoperator_server_zone_reserved(const char *text, const char *domain)
{
	struct arena a;
	arena_init(&a);
	const char *zone = zone_of(text, &a);
	bool reserved = zone != NULL && domain != NULL && dnsoperator_zone_has(domain, zone);
	arena_done(&a);
	return reserved;
}

bool dnsoperator_server_zone_covers(const char *text, const char *domain)
{
	const char *const of_cluster[] = { domain, "in-addr.arpa", "ip6.arpa" };
	bool covers = false;
	struct arena a;
	arena_init(&a);
	const char *zone = zone_of(text, &a);
	for (size_t i = 0; zone != NULL && i < ARRAY_LEN(of_cluster); i++)
		covers = covers || (strcmp(zone, of_cluster[i]) != 0 &&
				    dnsoperator_zone_has(zone, of_cluster[i]));
	arena_done(&a);
	return covers;
}

/* ---- order ---- */

/* A zone of a template. */
struct entry {
	const char *zone;
	const struct dnsoperator_template *of;
	unsigned labels;
	/* The last stanza that holds a zone of another template below this one, plus one. */
	size_t after;
};

static unsigned labels_of(const char *zone)
{
	unsigned n = strcmp(zone, ".") != 0;
	for (const char *p = zone; n != 0 && (p = strchr(p, '.')) != NULL; p++)
		n++;
	return n;
}

static int compare_depth(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;
	if (a->labels != b->labels)
		return a->labels > b->labels ? -1 : 1;
	int d = strcmp(a->of->name, b->of->name);
	return d != 0 ? d : strcmp(a->zone, b->zone);
}

/* Zones above this one come after its stanza, unless they are of the same template: whichever of
 * its zones a name is found in, the answer is the same. */
static void hold_back(const struct map *entries, const struct entry *entry, size_t stanza)
{
	const char *zone = entry->zone;
	while (strcmp(zone, ".") != 0) {
		const char *dot = strchr(zone, '.');
		zone = dot != NULL ? dot + 1 : ".";
		struct entry *above = map_get(entries, slice_of(zone));
		if (above != NULL && above->of != entry->of && above->after < stanza + 1)
			above->after = stanza + 1;
	}
}

struct work {
	VEC(struct dnsoperator_stanza) stanzas;
	size_t *current; /* by template: its last stanza plus one */
	struct map entries;
};

static void add_to_stanza(struct work *work, const struct dnsoperator_templates *templates,
			  struct entry *entry, struct arena *arena)
{
	size_t *cur = &work->current[entry->of - templates->v];
	if (*cur == 0 || *cur <= entry->after) {
		vec_push(&work->stanzas,
			 (struct dnsoperator_stanza){
				 .of = entry->of,
				 .zones = arena_alloc(arena,
						      entry->of->n_zones * sizeof(const char *)),
			 });
		*cur = work->stanzas.n;
	}
	struct dnsoperator_stanza *s = &work->stanzas.v[*cur - 1];
	s->zones[s->n_zones++] = entry->zone;
	hold_back(&work->entries, entry, *cur - 1);
}

void dnsoperator_stanzas_order(const struct dnsoperator_templates *templates, struct arena *arena,
			       struct dnsoperator_stanzas *ret)
{
	struct work w = { .current = xcalloc(templates->n + 1, sizeof(*w.current)) };
	VEC(struct entry) all = { 0 };
	for (size_t i = 0; i < templates->n; i++) {
		for (size_t k = 0; k < templates->v[i].n_zones; k++) {
			const char *zone = templates->v[i].zones[k];
			vec_push(&all,
				 (struct entry){ zone, &templates->v[i], labels_of(zone), 0 });
		}
	}
	if (all.n != 0)
		qsort(all.v, all.n, sizeof(*all.v), compare_depth);
	map_init(&w.entries);
	for (size_t i = 0; i < all.n; i++)
		map_set(&w.entries, slice_of(all.v[i].zone), &all.v[i]);
	for (size_t i = 0; i < all.n; i++)
		add_to_stanza(&w, templates, &all.v[i], arena);
	map_done(&w.entries);
	vec_done(&all);
	free(w.current);
	ret->n = w.stanzas.n;
	ret->v = arena_alloc(arena, (w.stanzas.n + 1) * sizeof(*ret->v));
	if (w.stanzas.n != 0)
		memcpy(ret->v, w.stanzas.v, w.stanzas.n * sizeof(*ret->v));
	vec_done(&w.stanzas);
}
