/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a Corefile to a generation: blocks and their keys, plugin set-up in chain order, routes per
 * listener with the duplicate and overlap rules of CoreDNS. */
#include "server/generation.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "corefile/corefile.h"
#include "corefile/key.h"
#include "server/block.h"
#include "server/chain.h"
#include "server/conn/certs.h"
#include "server/conn/transport.h"
#include "server/handler.h"
#include "server/request_metrics.h"
#include "server/route.h"
#include "server/server_state.h"
#include "server/setup.h"
#include "server/steps.h"

struct builder {
	struct server *srv;
	struct generation *generation;
	struct srcerr *err;
	struct map seen; /* "zone|listener" → block_zone; duplicates */
	struct map wild; /* "zone|port" → unbound / bound mark; overlaps */
	VEC(struct route *) routes;
	struct map by_label; /* → struct route */
	VEC(struct plugin_inst *) inst;
	VEC(const char *) shown;
};

/* A key's zone with its port, kept until listeners are known. */
struct served {
	const char *zone;
	const uint8_t *wire;
	enum transport transport;
	uint16_t port;
	struct srcpos pos;
	bool fresh; /* not yet met in an earlier key of the block */
};

struct block_work {
	VEC(struct served) served;
	struct map zones; /* zones met so far */
};

/* ---- keys ---- */

static const char *const schemes[] = {
	[TRANSPORT_DNS] = "dns",
	[TRANSPORT_TLS] = "tls",
	[TRANSPORT_HTTPS] = "https",
};

static int transport_of(const char *scheme)
{
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		if (strcmp(schemes[i], scheme) == 0)
			return (int)i;
	}
	return ERR_UNSUPPORTED;
}

/* `like` has what the zones of one key have in common. */
static int add_served(struct builder *builder, struct block_work *work, const char *zone,
		      const struct served *like)
{
	uint8_t wire[DNS_NAME_MAX];
	int n = dns_name_from_text(slice_of(zone), wire);
	if (n < 0)
		return srcerr_set(builder->err, like->pos, "'%s' is not a domain name", zone);
	dns_name_lower(wire, wire);
	bool fresh = !map_has(&work->zones, slice_of(zone));
	IGNORE(map_set(&work->zones, slice_of(zone), work));
	vec_push(&work->served,
		 (struct served){
			 .zone = zone,
			 .wire = arena_memdup(&builder->generation->arena, wire, (size_t)n),
			 .transport = like->transport,
			 .port = like->port,
			 .pos = like->pos,
			 .fresh = fresh,
		 });
	return 0;
}

static int read_keys(struct builder *builder, struct block *blk, struct block_work *work)
{
	const struct corefile_block *src = blk->src;
	for (size_t i = 0; i < src->n_key; i++) {
		struct corefile_key k;
		int r = corefile_key_parse(&builder->generation->arena, &src->key[i], &k,
					   builder->err);
		if (r < 0)
			return r;
		int t = transport_of(k.scheme);
		if (t < 0)
			return srcerr_set(builder->err, src->key[i].pos,
					  "scheme '%s://' is not supported, use 'dns://', 'tls://' "
					  "or 'https://'",
					  k.scheme);
		uint16_t port = t == TRANSPORT_DNS ? builder->srv->opts.default_port : k.how->port;
		struct served like = { .transport = (enum transport)t,
				       .port = k.has_port ? k.port : port,
				       .pos = src->key[i].pos };
		for (size_t z = 0; z < k.n_zones; z++) {
			r = add_served(builder, work, k.zones[z], &like);
			if (r < 0)
				return r;
		}
	}
	blk->zone_text =
		arena_alloc(&builder->generation->arena, (work->served.n + 1) * sizeof(char *));
	blk->zone_wire =
		arena_alloc(&builder->generation->arena, (work->served.n + 1) * sizeof(uint8_t *));
	for (size_t i = 0; i < work->served.n; i++) {
		if (!work->served.v[i].fresh)
			continue;
		blk->zone_text[blk->n_zones] = work->served.v[i].zone;
		blk->zone_wire[blk->n_zones++] = work->served.v[i].wire;
	}
	return 0;
}

/* ---- plugins ---- */

static bool known_plugin(const char *name)
{
	for (size_t i = 0; plugin_list[i] != NULL; i++) {
		if (strcmp(plugin_list[i]->name, name) == 0)
			return true;
	}
	return false;
}

static int unknown_plugin(struct builder *builder, const struct word *name)
{
	CLEANUP(strbuf_done) struct strbuf why = STRBUF_INIT;
	if (builder->srv->opts.explain != NULL)
		builder->srv->opts.explain(name->s, &why);
	else
		strbuf_addf(&why,
			    "unknown directive '%s', expected the name of a plugin (see `fairlead "
			    "dns -plugins`)",
			    name->s);
	return srcerr_set(builder->err, name->pos, "%s", why.s);
}

static int check_names(struct builder *builder, const struct corefile_block *src)
{
	for (size_t i = 0; i < src->n_dir; i++) {
		if (!known_plugin(src->dir[i].name.s))
			return unknown_plugin(builder, &src->dir[i].name);
	}
	return 0;
}

/* Canonical text of the stanzas: equal text means equal configuration. */
static void add_stanza_text(struct strbuf *out, const struct corefile_dir *dir)
{
	strbuf_add_quoted(out, slice_of(dir->name.s));
	for (size_t i = 0; i < dir->n_arg; i++) {
		strbuf_addc(out, ' ');
		strbuf_add_quoted(out, slice_of(dir->arg[i].s));
	}
	if (dir->has_body) {
		strbuf_adds(out, " {\n");
		for (size_t i = 0; i < dir->n_body; i++)
			add_stanza_text(out, &dir->body[i]);
		strbuf_addc(out, '}');
	}
	strbuf_addc(out, '\n');
}

static struct plugin_inst *new_inst(struct builder *builder, struct block *blk,
				    const struct plugin *plugin,
				    const struct corefile_dir *const *dirs, size_t count)
{
	struct arena *arena = &builder->generation->arena;
	struct plugin_inst *inst = arena_calloc(arena, sizeof(*inst));
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	for (size_t i = 0; i < count; i++)
		add_stanza_text(&text, dirs[i]);
	inst->plugin = plugin;
	inst->respond = plugin->respond;
	inst->block = blk;
	inst->conf = arena_calloc(arena, plugin->conf_size);
	inst->id = (unsigned)builder->inst.n;
	inst->pos = dirs[0]->name.pos;
	inst->stanza = arena_strndup(arena, text.s, text.n);
	inst->chain_at = UINT32_MAX;
	inst->worker_data = arena_calloc(arena, (builder->srv->n_all + 1) * sizeof(void *));
	return inst;
}

static size_t count_stanzas(const struct corefile_block *src, const struct plugin *plugin)
{
	size_t n = 0;
	for (size_t i = 0; i < src->n_dir; i++)
		n += strcmp(src->dir[i].name.s, plugin->name) == 0;
	return n;
}

/* The instance of one plugin in one block, if it has stanzas there. */
static int setup_one(struct builder *builder, struct block *blk, const struct plugin *plugin)
{
	const struct corefile_block *src = blk->src;
	struct arena *arena = &builder->generation->arena;
	size_t n = count_stanzas(src, plugin);
	if (n == 0)
		return 0;
	const struct corefile_dir **dirs = arena_alloc(arena, n * sizeof(*dirs));
	for (size_t i = 0, k = 0; k < n; i++) {
		if (strcmp(src->dir[i].name.s, plugin->name) == 0)
			dirs[k++] = &src->dir[i];
	}
	struct plugin_inst *inst = new_inst(builder, blk, plugin, dirs, n);
	struct setup s = { .arena = arena,
			   .block = blk,
			   .conf = &blk->conf,
			   .dir = dirs,
			   .n_dir = n,
			   .err = builder->err };
	int r = plugin->parse != NULL ? plugin->parse(inst, &s) : 0;
	if (r < 0)
		return r;
	vec_push(&builder->inst, inst);
	blk->inst[blk->n_inst++] = inst;
	inst->state_at = blk->n_states++; /* filters and metadata may want one, too */
	if (plugin->serve == NULL && inst->respond == NULL && plugin->done == NULL)
		return 0;
	inst->chain_at = blk->n_chain;
	blk->chain[blk->n_chain++] = inst;
	if (plugin->announce != NULL)
		blk->announcer[blk->n_announce++] = inst;
	return 0;
}

/* Plugins outside, blocks inside: a plugin sees what those before it in the chain set in any block.
 */
static int setup_plugins(struct builder *builder)
{
	for (size_t i = 0; plugin_list[i] != NULL; i++) {
		for (size_t k = 0; k < builder->generation->n_block; k++) {
			int r = setup_one(builder, &builder->generation->block[k], plugin_list[i]);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* ---- routes ---- */

static const char *listener_label(struct builder *builder, const char *ip, const struct served *sv)
{
	const char *fmt_ip = ip;
	if (strchr(ip, ':') != NULL)
		fmt_ip = arena_printf(&builder->generation->arena, "[%s]", ip);
	return arena_printf(&builder->generation->arena, "%s://%s:%u", schemes[sv->transport],
			    fmt_ip, sv->port);
}

static struct route *route_get(struct builder *builder, const char *label, enum transport transport)
{
	struct route *route = map_get(&builder->by_label, slice_of(label));
	if (route != NULL)
		return route;
	route = arena_calloc(&builder->generation->arena, sizeof(*route));
	route->label = label;
	route->transport = transport;
	size_t prefix = strlen(schemes[transport]) + strlen("://");
	if (net_addr_parse(slice_from(slice_of(label), prefix), &route->addr) < 0) {
		srcerr_set(builder->err, (struct srcpos){ 0 }, "cannot listen on '%s'", label);
		return NULL;
	}
	route->zones = dns_zoneset_new();
	request_metrics_init(&route->refused_metrics, label, "dropped", "");
	vec_push(&builder->routes, route);
	map_set(&builder->by_label, slice_of(label), route);
	return route;
}

/* Refuses a zone served twice on one listener, and a zone that is bound to an address in one block
 * and to all addresses in another. Views may repeat. */
static int check_duplicate(struct builder *builder, const struct block *blk,
			   const struct served *sv, const char *ip, const char *label)
{
	const char *key = arena_printf(&builder->generation->arena, "%s|%s", sv->zone, label);
	bool view = blk->conf.filter != NULL;
	if (!view && map_set(&builder->seen, slice_of(key), builder) != NULL)
		return srcerr_set(builder->err, sv->pos,
				  "cannot serve %s on %s - it is already defined", sv->zone, label);
	static char bound, unbound;
	char *mark = ip[0] == '\0' ? &unbound : &bound;
	key = arena_printf(&builder->generation->arena, "%s|%s|%u", sv->zone,
			   schemes[sv->transport], sv->port);
	const char *before = view ? map_get(&builder->wild, slice_of(key))
				  : map_set(&builder->wild, slice_of(key), mark);
	if (before != NULL && before != mark)
		return srcerr_set(builder->err, sv->pos,
				  "cannot serve %s on port %u - zone overlap listener capacity "
				  "with a block that %s an address by 'bind'",
				  sv->zone, sv->port, mark == &bound ? "does not set" : "sets");
	return 0;
}

static void merge_conf(struct route *route, const struct block_conf *conf)
{
	route->opcodes |= conf->opcodes;
	route->any_class |= conf->any_class;
	if (conf->timeouts.read_ns != 0)
		route->timeouts.read_ns = conf->timeouts.read_ns;
	if (conf->timeouts.write_ns != 0)
		route->timeouts.write_ns = conf->timeouts.write_ns;
	if (conf->timeouts.idle_ns != 0)
		route->timeouts.idle_ns = conf->timeouts.idle_ns;
	if (conf->timeouts.max_tcp_queries != 0)
		route->timeouts.max_tcp_queries = conf->timeouts.max_tcp_queries;
}

/* `https`: the first block of a listener decides about connections; streams must be agreed on. */
static int merge_https(struct builder *builder, struct route *route, const struct block *blk,
		       const struct served *sv)
{
	const struct block_conf *c = &blk->conf;
	if (route->transport != TRANSPORT_HTTPS)
		return 0;
	if (route->first == NULL && c->https.has_max_connections)
		route->https.max_connections = c->https.max_connections;
	if (!c->https.has_max_streams)
		return 0;
	if (route->https.has_max_streams && route->https.max_streams != c->https.max_streams)
		return srcerr_set(builder->err, sv->pos,
				  "conflicting max_streams values for shared HTTPS listener %s: %u "
				  "and %u",
				  route->label, route->https.max_streams, c->https.max_streams);
	route->https.max_streams = c->https.max_streams;
	route->https.has_max_streams = true;
	return 0;
}

static struct block_zone *add_zone(struct builder *builder, struct block *blk, struct route *route,
				   const uint8_t *wire, const char *text)
{
	struct block_zone *zone = arena_calloc(&builder->generation->arena, sizeof(*zone));
	zone->block = blk;
	zone->wire = wire;
	zone->text = text;
	zone->route = route;
	request_metrics_init(&zone->metrics, route->label, text, blk->conf.view);
	blk->served[blk->n_served++] = zone;
	dns_zoneset_add(route->zones, wire, (uint32_t)blk->index, zone);
	return zone;
}

/* The zone that a plugin of the block answers for, where it lies below `above`. A listener that has
 * it from another zone of the block needs it only once. */
static void add_own_zone(struct builder *builder, struct block *blk, struct block_zone *above)
{
	const struct block_conf *conf = &blk->conf;
	if (conf->own_zone == NULL || !dns_name_is_below(conf->own_zone, above->wire))
		return;
	if (dns_name_eq(conf->own_zone, above->wire)) {
		above->owner = conf->own_zone_inst;
		return;
	}
	for (size_t i = 0; i < blk->n_served; i++) {
		if (blk->served[i]->owner != NULL && blk->served[i]->route == above->route)
			return;
	}
	add_zone(builder, blk, above->route, conf->own_zone, conf->own_zone_text)->owner =
		conf->own_zone_inst;
}

static int add_route_zone(struct builder *builder, struct block *blk, const struct served *sv,
			  const char *ip)
{
	const char *label = listener_label(builder, ip, sv);
	int r = check_duplicate(builder, blk, sv, ip, label);
	if (r < 0)
		return r;
	struct route *route = route_get(builder, label, sv->transport);
	if (route == NULL)
		return ERR_CONFIG;
	struct block_zone *zone = add_zone(builder, blk, route, sv->wire, sv->zone);
	add_own_zone(builder, blk, zone);
	if (blk->label == NULL)
		blk->label = label;
	merge_conf(route, &blk->conf);
	r = merge_https(builder, route, blk, sv);
	if (r < 0)
		return r;
	if (route->first == NULL)
		route->first = zone;
	bool plain = sv->transport == TRANSPORT_DNS;
	vec_push(&builder->shown,
		 arena_printf(&builder->generation->arena, "%s%s%s:%u%s%s",
			      plain ? "" : schemes[sv->transport], plain ? "" : "://", sv->zone,
			      sv->port, ip[0] != '\0' ? " on " : "", ip));
	return 0;
}

static int add_routes(struct builder *builder, struct block *blk, const struct block_work *work)
{
	/* Twice: each may have an own zone below it. */
	size_t n_pairs = 2 * work->served.n * MAX(blk->conf.n_listen, (size_t)1);
	blk->served = arena_alloc(&builder->generation->arena, n_pairs * sizeof(*blk->served));
	for (size_t i = 0; i < work->served.n; i++) {
		size_t n = blk->conf.n_listen;
		for (size_t k = 0; k < MAX(n, (size_t)1); k++) {
			const char *ip = n != 0 ? blk->conf.listen[k] : "";
			int r = add_route_zone(builder, blk, &work->served.v[i], ip);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* ---- the whole ---- */

static bool has_code(const uint16_t *codes, size_t count, uint16_t code)
{
	while (count > 0 && codes[count - 1] != code)
		count--;
	return count > 0;
}

/* Option codes that any block names are echoed in all, as in CoreDNS. */
static void collect_echo(struct generation *generation)
{
	size_t room = 0;
	for (size_t i = 0; i < generation->n_block; i++)
		room += generation->block[i].conf.n_edns_echo;
	uint16_t *v = arena_alloc(&generation->arena, room * sizeof(*v));
	for (size_t i = 0; i < generation->n_block; i++) {
		const struct block_conf *c = &generation->block[i].conf;
		for (size_t k = 0; k < c->n_edns_echo; k++) {
			if (!has_code(v, generation->n_edns_echo, c->edns_echo[k]))
				v[generation->n_edns_echo++] = c->edns_echo[k];
		}
	}
	generation->edns_echo = v;
}

static void collect_conf(struct generation *generation)
{
	collect_echo(generation);
	for (size_t i = 0; i < generation->n_block; i++) {
		const struct block_conf *c = &generation->block[i].conf;
		generation->lameduck_ns = MAX(generation->lameduck_ns, c->lameduck_ns);
		if (c->reload_ns != 0) {
			generation->reload_ns = c->reload_ns;
			generation->reload_jitter_ns = c->reload_jitter_ns;
		}
		if (generation->sockets == 0)
			generation->sockets = c->sockets;
		if (block_find(&generation->block[i], "prometheus") != NULL)
			generation->has_metrics = true;
		generation->debug |= c->debug;
	}
}

static void init_block(struct builder *builder, size_t index)
{
	struct block *blk = &builder->generation->block[index];
	struct arena *arena = &builder->generation->arena;
	blk->gen = builder->generation;
	blk->index = index;
	blk->src = &builder->generation->corefile->block[index];
	blk->conf.root = blk->conf.view = "";
	size_t n = blk->src->n_dir + 1;
	blk->inst = arena_calloc(arena, n * sizeof(*blk->inst));
	blk->chain = arena_calloc(arena, n * sizeof(*blk->chain));
	blk->announcer = arena_calloc(arena, n * sizeof(*blk->announcer));
}

static int build_all(struct builder *builder, struct block_work *work)
{
	struct generation *generation = builder->generation;
	const struct corefile *corefile = generation->corefile;
	for (size_t i = 0; i < corefile->n_unserved_dir; i++) {
		if (!known_plugin(corefile->unserved_dir[i].s))
			return unknown_plugin(builder, &corefile->unserved_dir[i]);
	}
	for (size_t i = 0; i < generation->n_block; i++) {
		init_block(builder, i);
		int r = check_names(builder, generation->block[i].src);
		if (r == 0)
			r = read_keys(builder, &generation->block[i], &work[i]);
		if (r < 0)
			return r;
	}
	int r = setup_plugins(builder);
	for (size_t i = 0; i < generation->n_block && r == 0; i++) {
		struct block *blk = &generation->block[i];
		blk->steps = steps_new(&generation->arena, blk->chain, blk->n_chain, chain_end);
		r = add_routes(builder, blk, &work[i]);
	}
	return r;
}

/* Blocks of one listener agree about TLS, as it begins before any zone is asked for. */
static int join_certs(struct generation *generation, struct srcerr *err)
{
	for (size_t i = 0; i < generation->n_block; i++) {
		const struct block *blk = &generation->block[i];
		for (size_t k = 0; k < blk->n_served; k++) {
			struct route *route = blk->served[k]->route;
			if (route->transport == TRANSPORT_DNS)
				continue;
			const struct block_zone *first = route->first;
			const char *why = certs_conflict(first->block->conf.certs, blk->conf.certs);
			if (why != NULL)
				return srcerr_set(
					err, blk->src->key[0].pos,
					"conflicting TLS configuration for shared listener "
					"%s between zones \"%s\" and \"%s\": %s",
					route->label, first->text, blk->served[k]->text, why);
			route->certs = blk->conf.certs;
		}
	}
	return 0;
}

static int prepare_all(struct generation *generation, bool dry, struct srcerr *err)
{
	for (; generation->n_prepared < generation->n_inst; generation->n_prepared++) {
		struct plugin_inst *inst = generation->inst[generation->n_prepared];
		struct prepare p = { .dry = dry,
				     .no_metrics_page = generation->srv->opts.no_metrics_page,
				     .err = err };
		int r = inst->plugin->prepare != NULL ? inst->plugin->prepare(inst, &p) : 0;
		if (r >= 0)
			continue;
		if (err->text[0] == '\0')
			srcerr_set(err, inst->pos, "%s: %s", inst->plugin->name, err_str(r));
		return r;
	}
	return 0;
}

int generation_build(struct server *srv, struct corefile *corefile, bool dry,
		     struct generation **ret, struct srcerr *err)
{
	struct generation *generation =
		xcalloc(1, sizeof(*generation) + srv->n_all * sizeof(struct generation_worker));
	struct builder b = { .srv = srv, .generation = generation, .err = err };
	struct block_work *work = xcalloc(corefile->n_block + 1, sizeof(*work));
	arena_init(&generation->arena);
	generation->srv = srv;
	generation->corefile = corefile;
	generation->n_block = corefile->n_block;
	generation->block = arena_calloc(&generation->arena,
					 (corefile->n_block + 1) * sizeof(*generation->block));
	err->text[0] = '\0';

	int r = build_all(&b, work);
	generation->route = arena_memdup(&generation->arena, b.routes.v,
					 b.routes.n * sizeof(*generation->route));
	generation->n_route = b.routes.n;
	generation->inst =
		arena_memdup(&generation->arena, b.inst.v, b.inst.n * sizeof(*generation->inst));
	generation->n_inst = b.inst.n;
	generation->shown =
		arena_memdup(&generation->arena, b.shown.v, b.shown.n * sizeof(*generation->shown));
	generation->n_shown = b.shown.n;
	collect_conf(generation);
	if (r >= 0)
		r = prepare_all(generation, dry, err);
	if (r >= 0)
		r = join_certs(generation, err);
	for (size_t i = 0; i < corefile->n_block; i++) {
		vec_done(&work[i].served);
		map_done(&work[i].zones);
	}
	free(work);
	map_done(&b.seen);
	map_done(&b.wild);
	map_done(&b.by_label);
	vec_done(&b.routes);
	vec_done(&b.inst);
	vec_done(&b.shown);
	if (r < 0 || dry) {
		generation_free(generation, true);
		return r;
	}
	*ret = generation;
	return 0;
}

/* Instances may use each other in the background: all of it ends before the first one is torn down. */
static void stop_background(const struct generation *generation)
{
	for (size_t i = 0; i < generation->n_prepared; i++)
		task_owner_stop(&generation->inst[i]->tasks);
	for (size_t i = generation->n_prepared; i-- > 0;) {
		struct plugin_inst *inst = generation->inst[i];
		if (inst->plugin->stop != NULL)
			inst->plugin->stop(inst);
	}
}

void generation_free(struct generation *generation, bool aborted)
{
	if (generation == NULL)
		return;
	assert(generation->n_prepared <= generation->n_inst);
	for (unsigned i = 0; i < generation->srv->n_all; i++)
		assert(generation->worker[i].inflight == 0);
	stop_background(generation);
	for (size_t i = generation->n_prepared; i-- > 0;) {
		struct plugin_inst *inst = generation->inst[i];
		if (aborted && inst->plugin->abort != NULL)
			inst->plugin->abort(inst);
		if (inst->plugin->teardown != NULL)
			inst->plugin->teardown(inst);
	}
	for (size_t i = 0; i < generation->n_route; i++)
		dns_zoneset_free(generation->route[i]->zones);
	corefile_free(generation->corefile);
	arena_done(&generation->arena);
	free(generation);
}
