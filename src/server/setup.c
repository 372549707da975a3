/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading stanzas: options by table, zones, fallthrough, paths; and what plugins may ask about
 * their block. */
#include "server/setup.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "corefile/key.h"
#include "server/block.h"
#include "server/generation.h"
#include "server/route.h"

int setup_error(const struct setup *setup, struct srcpos pos, const char *fmt, ...)
{
	char text[sizeof(setup->err->text)];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return srcerr_set(setup->err, pos, "%s", text);
}

int setup_once(const struct setup *setup)
{
	if (setup->n_dir == 1)
		return 0;
	return setup_error(setup, setup->dir[1]->name.pos,
			   "'%s' may be used only once in a server block, first at line %u",
			   setup->dir[1]->name.s, setup->dir[0]->name.pos.line);
}

static struct opt_line as_line(const struct corefile_dir *dir)
{
	return (struct opt_line){ .name = dir->name, .arg = dir->arg, .n_arg = dir->n_arg };
}

int setup_body(struct setup *setup, const struct corefile_dir *dir, const struct opt *rows,
	       size_t count, void *conf, void *user)
{
	struct opt_ctx ctx = {
		.arena = setup->arena, .conf = conf, .user = user, .err = setup->err
	};
	uint64_t seen = 0;
	for (size_t i = 0; i < dir->n_body; i++) {
		struct opt_line line = as_line(&dir->body[i]);
		if (dir->body[i].has_body)
			return setup_error(setup, line.name.pos, "'%s' takes no block",
					   line.name.s);
		int r = opt_parse_line(rows, count, &line, &seen, &ctx);
		if (r < 0)
			return r;
	}
	return 0;
}

int setup_options(struct setup *setup, const struct corefile_dir *dir, const struct opt *rows,
		  size_t count, void *conf, void *user)
{
	struct opt_ctx ctx = {
		.arena = setup->arena, .conf = conf, .user = user, .err = setup->err
	};
	struct opt_line line = as_line(dir);
	opt_defaults(rows, count, &ctx);
	int r = opt_parse_args(rows, count, &line, &ctx);
	return r < 0 ? r : setup_body(setup, dir, rows, count, conf, user);
}

static int add_zone(struct setup *setup, const char *text, struct srcpos pos,
		    struct zone_list *list)
{
	uint8_t wire[DNS_NAME_MAX];
	int n = dns_name_from_text(slice_of(text), wire);
	if (n < 0)
		return setup_error(setup, pos, "'%s' is not a domain name", text);
	dns_name_lower(wire, wire);
	list->wire[list->n] = arena_memdup(setup->arena, wire, (size_t)n);
	list->text[list->n++] = arena_strdup(setup->arena, text);
	return 0;
}

/* The arena keeps what is outgrown, so the room doubles. */
static void zone_room(struct arena *arena, struct zone_list *list, size_t *room, size_t extra)
{
	if (list->wire != NULL && list->n + extra <= *room)
		return;
	*room = MAX(*room * 2, list->n + extra);
	const uint8_t **wire = arena_alloc(arena, *room * sizeof(*wire));
	const char **text = arena_alloc(arena, *room * sizeof(*text));
	if (list->n != 0) {
		memcpy(wire, list->wire, list->n * sizeof(*wire));
		memcpy(text, list->text, list->n * sizeof(*text));
	}
	list->wire = wire;
	list->text = text;
}

/* The slot of a name: the one that has it, or a free one. */
static size_t zone_slot(const struct zone_list *list, const uint32_t *slot, uint32_t hash,
			const uint8_t *name, size_t len)
{
	size_t i = hash & (list->n_slot - 1);
	for (; slot[i] != 0; i = (i + 1) & (list->n_slot - 1)) {
		const uint8_t *zone = list->wire[slot[i] - 1];
		if (dns_name_len(zone) == len && memcmp(zone, name, len) == 0)
			break;
	}
	return i;
}

/* What a query is looked up in must not cost more for each zone there is. */
static void index_zones(struct arena *arena, struct zone_list *list)
{
	enum { SCAN_MAX = 8 };
	if (list->n <= SCAN_MAX)
		return;
	for (list->n_slot = 2 * SCAN_MAX; list->n_slot < list->n * 2;)
		list->n_slot *= 2;
	uint32_t *slot = arena_calloc(arena, list->n_slot * sizeof(*slot));
	for (size_t i = 0; i < list->n; i++) {
		const uint8_t *zone = list->wire[i];
		size_t k = zone_slot(list, slot, dns_name_hash(zone), zone, dns_name_len(zone));
		/* Of a zone that stands twice the first place counts. */
		if (slot[k] == 0)
			slot[k] = (uint32_t)i + 1;
	}
	list->slot = slot;
}

int setup_zones(struct setup *setup, const struct word *word, size_t count, struct zone_list *ret)
{
	size_t room = 0;
	*ret = (struct zone_list){ 0 };
	if (count == 0) {
		ret->wire = setup->block->zone_wire;
		ret->text = setup->block->zone_text;
		ret->n = setup->block->n_zones;
		index_zones(setup->arena, ret);
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		const char *const *zones;
		size_t n_zones;
		int r = corefile_zones_expand(setup->arena, &word[i], &zones, &n_zones, setup->err);
		if (r < 0)
			return r;
		zone_room(setup->arena, ret, &room, i == 0 ? count - 1 + n_zones : n_zones);
		for (size_t k = 0; k < n_zones; k++) {
			r = add_zone(setup, zones[k], word[i].pos, ret);
			if (r < 0)
				return r;
		}
	}
	index_zones(setup->arena, ret);
	return 0;
}

int setup_zones_fit(const struct setup *setup, struct srcpos pos, const struct zone_list *zones,
		    struct slice front)
{
	for (size_t i = 0; i < zones->n; i++) {
		size_t octets = front.n + dns_name_len(zones->wire[i]);
		if (octets > DNS_NAME_MAX)
			return setup_error(setup, pos,
					   "zone '%s' is too long: the names of its SOA record "
					   "would have %zu octets, the limit is %d",
					   zones->text[i], octets, DNS_NAME_MAX);
	}
	return 0;
}

static int match_indexed(const struct zone_list *list, const struct dns_qname *qname)
{
	for (unsigned i = 0; i <= qname->n_labels; i++) {
		size_t at = qname->label[i];
		size_t k = zone_slot(list, list->slot, qname->hash[i], qname->wire + at,
				     qname->len - at);
		if (list->slot[k] != 0)
			return (int)list->slot[k] - 1;
	}
	return -1;
}

int zone_list_match(const struct zone_list *list, const struct dns_qname *qname)
{
	if (list->slot != NULL)
		return match_indexed(list, qname);
	int best = -1;
	size_t best_len = 0;
	for (size_t i = 0; i < list->n; i++) {
		size_t len = dns_name_len(list->wire[i]);
		if (len > best_len && dns_name_is_below(qname->wire, list->wire[i])) {
			best = (int)i;
			best_len = len;
		}
	}
	return best;
}

int setup_fallthrough(struct setup *setup, const struct word *word, size_t count,
		      struct fallthrough *ret)
{
	*ret = (struct fallthrough){ .on = true, .all = count == 0 };
	return count == 0 ? 0 : setup_zones(setup, word, count, &ret->zones);
}

int setup_fallthrough_opt(struct opt_ctx *ctx, const struct opt_line *line)
{
	return setup_fallthrough(ctx->user, line->arg, line->n_arg, ctx->field);
}

bool fallthrough_covers(const struct fallthrough *fallthrough, const struct dns_qname *qname)
{
	return fallthrough->on &&
	       (fallthrough->all || zone_list_match(&fallthrough->zones, qname) >= 0);
}

const char *setup_path(const struct setup *setup, const char *path)
{
	if (path[0] == '/' || setup->conf->root[0] == '\0')
		return path;
	return arena_printf(setup->arena, "%s/%s", setup->conf->root, path);
}

const char *block_zone_text(const struct block *block, size_t index)
{
	return block->zone_text[index];
}

const struct block_conf *block_conf(const struct block *block)
{
	return &block->conf;
}

struct plugin_inst *block_find(struct block *block, const char *plugin)
{
	for (size_t i = 0; i < block->n_inst; i++) {
		if (strcmp(block->inst[i]->plugin->name, plugin) == 0)
			return block->inst[i];
	}
	return NULL;
}

bool block_renames(const struct block *block)
{
	for (size_t i = 0; i < block->n_inst; i++) {
		if (block->inst[i]->plugin->renames)
			return true;
	}
	return false;
}

struct plugin_inst *block_inst(struct block *block, size_t index)
{
	return index < block->n_inst ? block->inst[index] : NULL;
}

struct plugin_inst *block_next(struct block *block, const struct plugin_inst *self)
{
	return self->chain_at + 1 < block->n_chain ? block->chain[self->chain_at + 1] : NULL;
}

struct generation *block_generation(const struct block *block)
{
	return block->gen;
}

bool block_served(const struct block *block, size_t index, const char **ret_server,
		  const char **ret_zone)
{
	if (index >= block->n_served)
		return false;
	*ret_server = block->served[index]->route->label;
	*ret_zone = block->served[index]->text;
	return true;
}

const char *block_server_label(const struct block *block)
{
	return block->label;
}
