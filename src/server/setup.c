/* Reading stanzas: options by table, zones, fallthrough, paths; and what a block tells. */
#include "server/setup.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "corefile/key.h"
#include "server/server_priv.h"

int setup_error(const struct setup *s, struct srcpos pos, const char *fmt, ...)
{
	char text[sizeof(s->err->text)];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return srcerr_set(s->err, pos, "%s", text);
}

int setup_once(const struct setup *s)
{
	if (s->n_dir == 1)
		return 0;
	return setup_error(s, s->dir[1]->name.pos,
			   "'%s' may stand only once in a server block, first at line %u",
			   s->dir[1]->name.s, s->dir[0]->name.pos.line);
}

static struct opt_line as_line(const struct corefile_dir *d)
{
	return (struct opt_line){ .name = d->name, .arg = d->arg, .n_arg = d->n_arg };
}

int setup_body(struct setup *s, const struct corefile_dir *dir, const struct opt *rows, size_t n,
	       void *conf, void *user)
{
	struct opt_ctx ctx = { .arena = s->arena, .conf = conf, .user = user, .err = s->err };
	uint64_t seen = 0;
	for (size_t i = 0; i < dir->n_body; i++) {
		struct opt_line line = as_line(&dir->body[i]);
		if (dir->body[i].has_body)
			return setup_error(s, line.name.pos, "'%s' takes no block", line.name.s);
		int r = opt_parse_line(rows, n, &line, &seen, &ctx);
		if (r < 0)
			return r;
	}
	return 0;
}

int setup_options(struct setup *s, const struct corefile_dir *dir, const struct opt *rows, size_t n,
		  void *conf, void *user)
{
	struct opt_ctx ctx = { .arena = s->arena, .conf = conf, .user = user, .err = s->err };
	struct opt_line line = as_line(dir);
	opt_defaults(rows, n, &ctx);
	int r = opt_parse_args(rows, n, &line, &ctx);
	return r < 0 ? r : setup_body(s, dir, rows, n, conf, user);
}

static int add_zone(struct setup *s, const char *text, struct srcpos pos, struct zone_list *z)
{
	uint8_t wire[DNS_NAME_MAX];
	int n = dns_name_from_text(slice_of(text), wire);
	if (n < 0)
		return setup_error(s, pos, "'%s' is not a domain name", text);
	dns_name_lower(wire, wire);
	z->wire[z->n] = arena_memdup(s->arena, wire, (size_t)n);
	z->text[z->n++] = arena_strdup(s->arena, text);
	return 0;
}

/* The arena keeps what is outgrown, so the room doubles. */
static void zone_room(struct arena *a, struct zone_list *z, size_t *room, size_t extra)
{
	if (z->wire != NULL && z->n + extra <= *room)
		return;
	*room = MAX(*room * 2, z->n + extra);
	const uint8_t **wire = arena_alloc(a, *room * sizeof(*wire));
	const char **text = arena_alloc(a, *room * sizeof(*text));
	if (z->n != 0) {
		memcpy(wire, z->wire, z->n * sizeof(*wire));
		memcpy(text, z->text, z->n * sizeof(*text));
	}
	z->wire = wire;
	z->text = text;
}

/* The slot of a name: the one that has it, or a free one. */
static size_t zone_slot(const struct zone_list *z, const uint32_t *slot, uint32_t hash,
			const uint8_t *name, size_t len)
{
	size_t i = hash & (z->n_slot - 1);
	for (; slot[i] != 0; i = (i + 1) & (z->n_slot - 1)) {
		const uint8_t *zone = z->wire[slot[i] - 1];
		if (dns_name_len(zone) == len && memcmp(zone, name, len) == 0)
			break;
	}
	return i;
}

/* What a query is looked up in must not cost more for each zone there is. */
static void index_zones(struct arena *a, struct zone_list *z)
{
	enum { SCAN_MAX = 8 };
	if (z->n <= SCAN_MAX)
		return;
	for (z->n_slot = 2 * SCAN_MAX; z->n_slot < z->n * 2;)
		z->n_slot *= 2;
	uint32_t *slot = arena_calloc(a, z->n_slot * sizeof(*slot));
	for (size_t i = 0; i < z->n; i++) {
		const uint8_t *zone = z->wire[i];
		size_t k = zone_slot(z, slot, dns_name_hash(zone), zone, dns_name_len(zone));
		/* Of a zone that stands twice the first place counts. */
		if (slot[k] == 0)
			slot[k] = (uint32_t)i + 1;
	}
	z->slot = slot;
}

int setup_zones(struct setup *s, const struct word *w, size_t n, struct zone_list *ret)
{
	size_t room = 0;
	*ret = (struct zone_list){ 0 };
	if (n == 0) {
		ret->wire = s->block->zone_wire;
		ret->text = s->block->zone_text;
		ret->n = s->block->n_zones;
		index_zones(s->arena, ret);
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		const char *const *zones;
		size_t n_zones;
		int r = corefile_zones_expand(s->arena, &w[i], &zones, &n_zones, s->err);
		if (r < 0)
			return r;
		zone_room(s->arena, ret, &room, i == 0 ? n - 1 + n_zones : n_zones);
		for (size_t k = 0; k < n_zones; k++) {
			r = add_zone(s, zones[k], w[i].pos, ret);
			if (r < 0)
				return r;
		}
	}
	index_zones(s->arena, ret);
	return 0;
}

int setup_zones_fit(const struct setup *s, struct srcpos pos, const struct zone_list *zones,
		    struct slice front)
{
	for (size_t i = 0; i < zones->n; i++) {
		size_t octets = front.n + dns_name_len(zones->wire[i]);
		if (octets > DNS_NAME_MAX)
			return setup_error(s, pos,
					   "zone '%s' is too long: the names of its SOA record "
					   "would have %zu octets, the limit is %d",
					   zones->text[i], octets, DNS_NAME_MAX);
	}
	return 0;
}

static int match_indexed(const struct zone_list *z, const struct dns_qname *q)
{
	for (unsigned i = 0; i <= q->n_labels; i++) {
		size_t at = q->label[i];
		size_t k = zone_slot(z, z->slot, q->hash[i], q->wire + at, q->len - at);
		if (z->slot[k] != 0)
			return (int)z->slot[k] - 1;
	}
	return -1;
}

int zone_list_match(const struct zone_list *z, const struct dns_qname *q)
{
	if (z->slot != NULL)
		return match_indexed(z, q);
	int best = -1;
	size_t best_len = 0;
	for (size_t i = 0; i < z->n; i++) {
		size_t len = dns_name_len(z->wire[i]);
		if (len > best_len && dns_name_is_below(q->wire, z->wire[i])) {
			best = (int)i;
			best_len = len;
		}
	}
	return best;
}

int setup_fallthrough(struct setup *s, const struct word *w, size_t n, struct fallthrough *ret)
{
	*ret = (struct fallthrough){ .on = true, .all = n == 0 };
	return n == 0 ? 0 : setup_zones(s, w, n, &ret->zones);
}

int setup_fallthrough_opt(struct opt_ctx *ctx, const struct opt_line *line)
{
	return setup_fallthrough(ctx->user, line->arg, line->n_arg, ctx->field);
}

bool fallthrough_covers(const struct fallthrough *f, const struct dns_qname *q)
{
	return f->on && (f->all || zone_list_match(&f->zones, q) >= 0);
}

const char *setup_path(const struct setup *s, const char *path)
{
	if (path[0] == '/' || s->conf->root[0] == '\0')
		return path;
	return arena_printf(s->arena, "%s/%s", s->conf->root, path);
}

const char *block_zone_text(const struct block *b, size_t i)
{
	return b->zone_text[i];
}

const struct block_conf *block_conf(const struct block *b)
{
	return &b->conf;
}

struct plugin_inst *block_find(struct block *b, const char *plugin)
{
	for (size_t i = 0; i < b->n_inst; i++) {
		if (strcmp(b->inst[i]->plugin->name, plugin) == 0)
			return b->inst[i];
	}
	return NULL;
}

bool block_renames(const struct block *b)
{
	for (size_t i = 0; i < b->n_inst; i++) {
		if (b->inst[i]->plugin->renames)
			return true;
	}
	return false;
}

struct plugin_inst *block_inst(struct block *b, size_t i)
{
	return i < b->n_inst ? b->inst[i] : NULL;
}

struct plugin_inst *block_next(struct block *b, const struct plugin_inst *self)
{
	return self->chain_at + 1 < b->n_chain ? b->chain[self->chain_at + 1] : NULL;
}

struct generation *block_generation(const struct block *b)
{
	return b->gen;
}

size_t generation_n_blocks(const struct generation *g)
{
	return g->n_block;
}

struct block *generation_block(const struct generation *g, size_t i)
{
	return &g->block[i];
}

bool block_served(const struct block *b, size_t i, const char **ret_server, const char **ret_zone)
{
	if (i >= b->n_served)
		return false;
	*ret_server = b->served[i]->route->label;
	*ret_zone = b->served[i]->text;
	return true;
}

const char *block_server_label(const struct block *b)
{
	return b->label;
}
