/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The store over reloads (CoreDNS drops it). It is kept when the stanza and everything that may
 * have made its replies is as before: the plugins behind it in the chain, the folder of relative
 * paths. Where only stanzas for some zones differ, the names of these zones are forgotten. So are,
 * at each reload, replies that other blocks had a part in: nobody compares those.
 *
 * A place (block with its zones and listeners) has one holder in the resource registry, which knows
 * the store of the generation that serves; a generation that is given up changes nothing. */
#include "plugin/cache/kept_store.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "dns/zone/zoneset.h"
#include "server/resource.h"

/* A store with all that made its replies. Control threads only. */
struct kept_store {
	struct store *store;
	unsigned refs;
};

struct holder {
	struct kept_store *store;
	char *stanza; /* of the cache itself */
	char *below;  /* of the rest: one top-level stanza after the other */
};

struct cache_kept {
	struct resource *resource;
	struct kept_store *store;
	char *below;
	struct dns_zoneset *flush; /* NULL: none */
};

/* Where the zones stand among the arguments of a stanza. */
static const struct {
	const char *plugin;
	unsigned first;
	bool only_one;
} zoned[] = {
	{ "forward", 0, true }, { "template", 2, false },   { "hosts", 1, false },
	{ "file", 1, false },	{ "kubernetes", 0, false }, { "erratic", 0, false },
	{ "whoami", 0, false },
};

/* ---- texts ---- */

static bool shapes_replies(const char *plugin, bool behind)
{
	return behind || strcmp(plugin, "root") == 0;
}

static char *text_below(struct plugin_inst *self)
{
	CLEANUP(strbuf_done) struct strbuf t = STRBUF_INIT;
	bool behind = false;
	struct plugin_inst *inst;
	for (size_t i = 0; (inst = block_inst(self->block, i)) != NULL; i++) {
		if (inst == self)
			behind = true;
		else if (shapes_replies(inst->plugin->name, behind))
			strbuf_adds(&t, inst->stanza);
	}
	return xstrndup(t.s, t.n);
}

static char *place_of(struct plugin_inst *self)
{
	CLEANUP(strbuf_done) struct strbuf t = STRBUF_INIT;
	const char *server, *zone;
	const struct plugin_inst *view = block_find(self->block, "view");
	strbuf_addf(&t, "cache\n%s", view != NULL ? view->stanza : "");
	for (size_t i = 0; block_served(self->block, i, &server, &zone); i++)
		strbuf_addf(&t, "%s %s\n", server, zone);
	return xstrndup(t.s, t.n);
}

/* ---- what differs ---- */

/* The length of the top-level stanza that `text` starts with: words are quoted, so a brace that is
 * not begins or ends a block. */
static size_t stanza_len(const char *text)
{
	size_t n = 0;
	unsigned depth = 0;
	do {
		const char *line = text + n;
		size_t len = strcspn(line, "\n");
		if (len != 0 && line[len - 1] == '{')
			depth++;
		if (line[0] == '}')
			depth--;
		n += len + (line[len] == '\n');
	} while (depth != 0 && text[n] != '\0');
	return n;
}

static struct slice first_stanza(const char *text)
{
	return (struct slice){ text, *text != '\0' ? stanza_len(text) : 0 };
}

/* The stanzas of a text, found by their text; false when one stands there twice. */
static bool index_stanzas(const char *text, struct map *map)
{
	map_init(map);
	for (struct slice st; (st = first_stanza(text)).n != 0; text += st.n) {
		if (map_set(map, st, map) != NULL)
			return false;
	}
	return true;
}

/* The next quoted word of a first line, without its quotes; escapes make it no zone we know. */
static bool next_word(struct slice *line, struct slice *ret)
{
	const char *end;
	if (line->n == 0 || line->p[0] != '"')
		return false;
	end = memchr(line->p + 1, '"', line->n - 1);
	if (end == NULL)
		return false;
	*ret = (struct slice){ line->p + 1, (size_t)(end - line->p) - 1 };
	size_t used = ret->n + 2;
	used += used < line->n && line->p[used] == ' ';
	*line = slice_from(*line, used);
	return true;
}

static bool add_zone(struct dns_zoneset *zs, struct slice word)
{
	uint8_t wire[DNS_NAME_MAX];
	if (memchr(word.p, '/', word.n) != NULL || memchr(word.p, '\\', word.n) != NULL ||
	    dns_name_from_text(word, wire) < 0)
		return false;
	dns_zoneset_add(zs, wire, (uint32_t)dns_zoneset_count(zs), zs);
	return true;
}

/* Adds the zones that a stanza is for; false when it is for all, or nobody knows. */
static bool add_zones(struct dns_zoneset *zs, struct slice stanza)
{
	struct slice line = { stanza.p, strcspn(stanza.p, "\n") };
	struct slice word;
	size_t found = 0;
	if (!next_word(&line, &word))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(zoned); i++) {
		if (!slice_eq(word, slice_of(zoned[i].plugin)))
			continue;
		for (unsigned k = 0; next_word(&line, &word); k++) {
			if (k < zoned[i].first || (zoned[i].only_one && k != zoned[i].first))
				continue;
			if (!add_zone(zs, word))
				return false;
			found++;
		}
	}
	return found != 0;
}

static bool add_differing(struct dns_zoneset *zs, const char *text, const struct map *other)
{
	for (struct slice st; (st = first_stanza(text)).n != 0; text += st.n) {
		if (!map_has(other, st) && !add_zones(zs, st))
			return false;
	}
	return true;
}

/* The next stanza from `text` on that the other text has, too. */
static struct slice next_common(const char *text, const struct map *other)
{
	struct slice st;
	while ((st = first_stanza(text)).n != 0 && !map_has(other, st))
		text += st.n;
	return st;
}

/* Do stanzas that both have stand in the same order? The first that fits may decide. */
static bool same_order(const char *left, const struct map *in_b, const char *right,
		       const struct map *in_a)
{
	for (;;) {
		struct slice x = next_common(left, in_b), y = next_common(right, in_a);
		if (x.n == 0 || !slice_eq(x, y))
			return x.n == y.n;
		left = x.p + x.n;
		right = y.p + y.n;
	}
}

/* Can the old replies be kept but for the zones in *zs? */
static bool compare_stanzas(const char *old, const char *new, struct dns_zoneset *zs)
{
	struct map in_old, in_new;
	bool ok = index_stanzas(old, &in_old);
	ok = index_stanzas(new, &in_new) && ok && same_order(old, &in_new, new, &in_old) &&
	     add_differing(zs, old, &in_new) && add_differing(zs, new, &in_old);
	map_done(&in_old);
	map_done(&in_new);
	return ok;
}

/* ---- life ---- */

static struct kept_store *new_store(const struct cache_conf *conf)
{
	enum { ENTRY_BYTES = 1024, BYTES_MIN = 16 << 20 };
	struct kept_store *k = xcalloc(1, sizeof(*k));
	struct store_conf sc = { .stale_s = conf->stale_s };
	size_t entries = 0;
	for (int h = 0; h < STORE_HALVES; h++) {
		sc.capacity[h] =
			(uint32_t)MIN(MAX(conf->half[h].capacity, (int64_t)0), (int64_t)1 << 26);
		entries += sc.capacity[h];
	}
	sc.bytes = conf->memory != 0 ? (size_t)conf->memory
				     : MAX(entries * ENTRY_BYTES, (size_t)BYTES_MIN);
	k->store = store_new(&sc);
	k->refs = 1;
	return k;
}

static void put_store(struct kept_store *store)
{
	if (store == NULL || --store->refs != 0)
		return;
	store_free(store->store);
	free(store);
}

static int make_holder(void *arg, struct task_owner *tasks, void **ret)
{
	(void)tasks;
	(void)arg;
	*ret = xcalloc(1, sizeof(struct holder));
	return 0;
}

static void free_holder(void *value)
{
	struct holder *h = value;
	put_store(h->store);
	free(h->stanza);
	free(h->below);
	free(h);
}

/* The store that was, if its replies are of use; with the zones that are not in k->flush. */
static struct kept_store *same_store(struct cache_kept *kept, const char *stanza)
{
	const struct holder *h = kept->resource->value;
	if (h->store == NULL || strcmp(h->stanza, stanza) != 0)
		return NULL;
	if (strcmp(h->below, kept->below) == 0)
		return h->store;
	kept->flush = dns_zoneset_new();
	return compare_stanzas(h->below, kept->below, kept->flush) ? h->store : NULL;
}

int cache_kept_open(struct plugin_inst *self)
{
	struct cache_conf *conf = self->conf;
	CLEANUP(freep) char *place = place_of(self);
	struct cache_kept *kept = xcalloc(1, sizeof(*kept));
	int r = resource_get(place, make_holder, NULL, free_holder, &kept->resource);
	if (r < 0) {
		free(kept);
		return r;
	}
	kept->below = text_below(self);
	kept->store = same_store(kept, self->stanza);
	if (kept->store != NULL)
		kept->store->refs++;
	else
		kept->store = new_store(conf);
	conf->kept = kept;
	conf->store = kept->store->store;
	conf->epoch = store_epoch(conf->store);
	return 0;
}

static bool in_flushed_zone(const void *ctx, const uint8_t *name)
{
	struct dns_qname q;
	dns_qname_set(&q, name);
	return dns_zoneset_longest(ctx, &q, 0, NULL) != NULL;
}

void cache_kept_commit(struct plugin_inst *self)
{
	struct cache_conf *conf = self->conf;
	struct cache_kept *kept = conf->kept;
	struct holder *h = kept->resource->value;
	kept->store->refs++;
	put_store(h->store);
	h->store = kept->store;
	free(h->stanza);
	h->stanza = xstrdup(self->stanza);
	free(h->below);
	h->below = TAKE_PTR(kept->below);
	store_flush(conf->store, kept->flush != NULL ? in_flushed_zone : NULL, kept->flush);
	dns_zoneset_free(TAKE_PTR(kept->flush));
	conf->epoch = store_epoch(conf->store);
}

void cache_kept_close(struct plugin_inst *self)
{
	struct cache_conf *conf = self->conf;
	struct cache_kept *kept = conf->kept;
	put_store(kept->store);
	resource_put(kept->resource);
	dns_zoneset_free(kept->flush);
	free(kept->below);
	free(kept);
}
