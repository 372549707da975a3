/* The store over reloads (CoreDNS drops it). It is kept when the stanza and everything that may
 * have made its replies is as before: the plugins behind it in the chain, the folder of relative
 * paths. Where only stanzas for some zones differ, the names of these zones are forgotten.
 *
 * A place (block with its zones and listeners) has one holder in the resource registry, which knows
 * the store of the generation that serves; a generation that is given up changes nothing. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "plugin/cache/cache_priv.h"
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

typedef VEC(uint8_t *) zone_vec;

struct cache_kept {
	struct resource *resource;
	struct kept_store *store;
	char *below;
	zone_vec flush;
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
	struct plugin_inst *in;
	for (size_t i = 0; (in = block_inst(self->block, i)) != NULL; i++) {
		if (in == self)
			behind = true;
		else if (shapes_replies(in->plugin->name, behind))
			strbuf_adds(&t, in->stanza);
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

static bool contains(const char *text, struct slice stanza)
{
	while (*text != '\0') {
		size_t n = stanza_len(text);
		if (slice_eq((struct slice){ text, n }, stanza))
			return true;
		text += n;
	}
	return false;
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

static bool add_zone(zone_vec *v, struct slice word)
{
	uint8_t wire[DNS_NAME_MAX];
	if (memchr(word.p, '/', word.n) != NULL || memchr(word.p, '\\', word.n) != NULL ||
	    dns_name_from_text(word, wire) < 0)
		return false;
	vec_push(v, xmemdup(wire, dns_name_len(wire)));
	return true;
}

/* Adds the zones that a stanza is for; false when it is for all, or nobody knows. */
static bool add_zones(zone_vec *v, struct slice stanza)
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
			if (!add_zone(v, word))
				return false;
			found++;
		}
	}
	return found != 0;
}

static bool add_differing(zone_vec *v, const char *text, const char *other)
{
	while (*text != '\0') {
		struct slice stanza = { text, stanza_len(text) };
		if (!contains(other, stanza) && !add_zones(v, stanza))
			return false;
		text += stanza.n;
	}
	return true;
}

/* Can the old replies be kept but for the zones in *v? */
static bool comparable(const char *old, const char *new, zone_vec *v)
{
	if (strcmp(old, new) == 0)
		return true;
	/* The same stanzas in another order, or twice: that may mean anything. */
	return add_differing(v, old, new) && add_differing(v, new, old) && v->n != 0;
}

/* ---- life ---- */

static struct kept_store *new_store(const struct cache_conf *c)
{
	enum { ENTRY_BYTES = 1024, BYTES_MIN = 16 << 20 };
	struct kept_store *k = xcalloc(1, sizeof(*k));
	struct store_conf sc = { .stale_s = c->stale_s };
	size_t entries = 0;
	for (int h = 0; h < STORE_HALVES; h++) {
		sc.capacity[h] =
			(uint32_t)MIN(MAX(c->half[h].capacity, (int64_t)0), (int64_t)1 << 26);
		entries += sc.capacity[h];
	}
	sc.bytes =
		c->memory != 0 ? (size_t)c->memory : MAX(entries * ENTRY_BYTES, (size_t)BYTES_MIN);
	k->store = store_new(&sc);
	k->refs = 1;
	return k;
}

static void put_store(struct kept_store *k)
{
	if (k == NULL || --k->refs != 0)
		return;
	store_free(k->store);
	free(k);
}

static int make_holder(void *arg, void **ret)
{
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

static void forget_zones(zone_vec *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(v->v[i]);
	vec_done(v);
}

int cache_keep_open(struct plugin_inst *self)
{
	struct cache_conf *c = self->conf;
	CLEANUP(freep) char *place = place_of(self);
	struct cache_kept *k = xcalloc(1, sizeof(*k));
	int r = resource_get(place, make_holder, NULL, free_holder, &k->resource);
	if (r < 0) {
		free(k);
		return r;
	}
	const struct holder *h = k->resource->value;
	k->below = text_below(self);
	if (h->store != NULL && strcmp(h->stanza, self->stanza) == 0 &&
	    comparable(h->below, k->below, &k->flush)) {
		k->store = h->store;
		k->store->refs++;
	} else {
		forget_zones(&k->flush);
		k->store = new_store(c);
	}
	c->kept = k;
	c->store = k->store->store;
	c->epoch = store_epoch(c->store);
	return 0;
}

void cache_keep_commit(struct plugin_inst *self)
{
	struct cache_conf *c = self->conf;
	struct cache_kept *k = c->kept;
	struct holder *h = k->resource->value;
	k->store->refs++;
	put_store(h->store);
	h->store = k->store;
	free(h->stanza);
	h->stanza = xstrdup(self->stanza);
	free(h->below);
	h->below = TAKE_PTR(k->below);
	for (size_t i = 0; i < k->flush.n; i++)
		store_flush_zone(c->store, k->flush.v[i]);
	forget_zones(&k->flush);
	c->epoch = store_epoch(c->store);
}

void cache_keep_close(struct plugin_inst *self)
{
	struct cache_conf *c = self->conf;
	struct cache_kept *k = c->kept;
	put_store(k->store);
	resource_put(k->resource);
	forget_zones(&k->flush);
	free(k->below);
	free(k);
}
