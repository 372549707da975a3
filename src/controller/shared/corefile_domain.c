/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the zone of the plugin kubernetes in a Corefile. */
#include "controller/shared/corefile_domain.h"

#include <string.h>

#include "api/meta.h"
#include "base/arena.h"
#include "base/err.h"
#include "corefile/corefile.h"
#include "corefile/key.h"

static bool is_reverse(struct slice zone)
{
	return slice_ends(zone, SLICE("in-addr.arpa")) || slice_ends(zone, SLICE("ip6.arpa"));
}

/* The one of these zones that is not for addresses, into `out`, unless it is there already.
 * ERR_PARSE: it is not a domain, or another one: it is ambiguous. */
static int take_domains(struct arena *arena, const struct word *words, size_t count,
			char out[COREFILE_DOMAIN_MAX])
{
	for (size_t i = 0; i < count; i++) {
		const char *const *zones;
		size_t n_zones;
		struct srcerr err;
		if (corefile_zones_expand(arena, &words[i], &zones, &n_zones, &err) < 0 ||
		    n_zones == 0)
			return ERR_PARSE;
		struct slice z = slice_of(zones[0]);
		if (z.n == 1)
			continue; /* the root */
		if (z.n == 0 || z.n > COREFILE_DOMAIN_MAX)
			return ERR_PARSE;
		z.n--; /* the final dot */
		if (is_reverse(z) || slice_is(z, out))
			continue;
		if (out[0] != '\0')
			return ERR_PARSE;
		memcpy(out, z.p, z.n);
		out[z.n] = '\0';
		if (!api_is_dns_domain(out))
			return ERR_PARSE;
	}
	return 0;
}

/* The environment is the DNS servers', not ours: what it would fill in is no part of any domain. */
static const char *env_unknown(void *ctx, const char *name)
{
	(void)ctx;
	(void)name;
	return "_";
}

static const struct corefile_source source = { .env = env_unknown };

int corefile_domain_find(struct slice corefile, char out[COREFILE_DOMAIN_MAX])
{
	struct arena a;
	CLEANUP(corefile_freep) struct corefile *cf = NULL;
	int r = corefile_parse("Corefile", corefile, &source, &cf, NULL);
	if (r < 0)
		return ERR_NOTFOUND;
	arena_init(&a);
	out[0] = '\0';
	for (size_t i = 0; i < cf->n_block && r >= 0; i++) {
		const struct corefile_block *b = &cf->block[i];
		for (size_t k = 0; k < b->n_dir && r >= 0; k++) {
			const struct corefile_dir *d = &b->dir[k];
			if (strcmp(d->name.s, "kubernetes") == 0)
				r = d->n_arg != 0 ? take_domains(&a, d->arg, d->n_arg, out)
						  : take_domains(&a, b->key, b->n_key, out);
		}
	}
	arena_done(&a);
	return r < 0 || out[0] == '\0' ? ERR_NOTFOUND : 0;
}

/* ---- search suffixes ---- */

/* How many characters of the domain the zone has at its end; -1: it is not in the zone. */
static int match_zone(struct slice zone, struct slice domain)
{
	if (slice_find(zone, '_') >= 0)
		return (int)domain.n; /* of the environment */
	if (zone.n > 0 && zone.p[zone.n - 1] == '.')
		zone.n--;
	if (zone.n == 0)
		return 0; /* the root */
	bool is_below = domain.n > zone.n && domain.p[domain.n - zone.n - 1] == '.';
	return slice_ends(domain, zone) && (is_below || domain.n == zone.n) ? (int)zone.n : -1;
}

/* The longest match of the words' zones. */
static int match_words(struct arena *arena, const struct word *words, size_t count,
		       struct slice domain)
{
	int longest = -1;
	for (size_t i = 0; i < count; i++) {
		const char *const *zones;
		size_t n_zones;
		struct srcerr err;
		if (corefile_zones_expand(arena, &words[i], &zones, &n_zones, &err) < 0)
			continue;
		for (size_t k = 0; k < n_zones; k++)
			longest = MAX(longest, match_zone(slice_of(zones[k]), domain));
	}
	return longest;
}

static bool has_other_label(const struct corefile_dir *dir)
{
	for (size_t i = 0; i < dir->n_body; i++) {
		const struct corefile_dir *line = &dir->body[i];
		if (strcmp(line->name.s, "label") == 0)
			return line->n_arg != 1 || strcmp(line->arg[0].s, "search") != 0;
	}
	return false;
}

static bool is_searched_in(struct arena *arena, const struct corefile_block *block,
			   struct slice domain)
{
	for (size_t i = 0; i < block->n_dir; i++) {
		const struct corefile_dir *dir = &block->dir[i];
		const struct word *words = dir->n_arg != 0 ? dir->arg : block->key;
		size_t count = dir->n_arg != 0 ? dir->n_arg : block->n_key;
		if (strcmp(dir->name.s, "searchpath") == 0 && !has_other_label(dir) &&
		    match_words(arena, words, count, domain) == (int)domain.n)
			return true;
	}
	return false;
}

bool corefile_domain_is_searched(struct slice corefile, const char *domain)
{
	struct arena arena;
	CLEANUP(corefile_freep) struct corefile *file = NULL;
	int longest = 0;
	bool is_searched = false;
	if (corefile_parse("Corefile", corefile, &source, &file, NULL) < 0)
		return false;
	arena_init(&arena);
	for (size_t i = 0; i < file->n_block; i++) {
		const struct corefile_block *block = &file->block[i];
		int match = match_words(&arena, block->key, block->n_key, slice_of(domain));
		if (match < longest)
			continue;
		bool here = is_searched_in(&arena, block, slice_of(domain));
		/* blocks of the same zone have other ports, and one of these is meant */
		is_searched = here || (is_searched && match == longest);
		longest = match;
	}
	arena_done(&arena);
	return is_searched;
}
