/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of learnt addresses: objects have names, names have pairs. Pairs that changed since the
 * last version of the zone are on a list, so that a version costs what changed. */
#include "plugin/egressfirewall/learnt.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "dns/learnt/learnt_record.h"
#include "plugin/egressfirewall/client_shares.h"
#include "plugin/egressfirewall/due_heap.h"
#include "plugin/egressfirewall/journal.h"

struct client {
	uint64_t id;
	uint32_t n;	    /* pairs that count for it */
	uint32_t n_of_name; /* of the name that limit_ips() looks at */
};

struct object {
	char *text;
	uint32_t n_names;
	struct egressfirewall_heap heap;
	struct egressfirewall_client_shares shares;
};

struct name {
	struct object *object;
	char *text, *target;
	struct pair *pairs;
	uint32_t n;
};

struct pair {
	struct egressfirewall_heap_item item; /* when its lease is to be renewed, or it leaves */
	struct name *name;
	struct client *client;
	struct egressfirewall_client_share *share; /* of that client in the object */
	struct pair *next;			   /* of the same name */
	struct pair *dirty_next, **dirty; /* the list of changed ones; dirty NULL: not on it */
	uint8_t ip[16], ip_n;
	uint32_t ttl_s;
	uint64_t first_s, expires_s, lease_s;
	/* As the zone has it; ttl 0: it is not in the zone yet. */
	uint32_t shown_ttl_s;
	uint64_t shown_expires_s, shown_first_s, shown_client;
	char *shown_target;
};

struct egressfirewall_learnt {
	struct egressfirewall_limits limits;
	struct map objects, names, clients;
	struct egressfirewall_heap all;
	struct pair *dirty;
	struct egressfirewall_journal *journal;
	struct egressfirewall_learnt_counts counts;
	struct egressfirewall_evicted on_evict; /* fn NULL: none */
};

static uint32_t serial_at(uint64_t wall_ns)
{
	return (uint32_t)(wall_ns >> 24);
}

struct egressfirewall_learnt *egressfirewall_learnt_new(const struct egressfirewall_limits *limits,
							uint64_t wall_ns)
{
	struct egressfirewall_learnt *t = xcalloc(1, sizeof(*t));
	t->limits = *limits;
	map_init(&t->objects);
	map_init(&t->names);
	map_init(&t->clients);
	t->all.kind = EGRESSFIREWALL_HEAP_ALL;
	t->journal = egressfirewall_journal_new(serial_at(wall_ns), limits->journal_bytes);
	return t;
}

void egressfirewall_learnt_on_evict(struct egressfirewall_learnt *learnt,
				    struct egressfirewall_evicted evicted)
{
	learnt->on_evict = evicted;
}

/* ---- names of things ---- */

/* Key of a name: its object and itself. */
static struct slice name_key(struct slice object, struct slice name,
			     char out[2 * DNS_LEARNT_TEXT_MAX + 1])
{
	assert(object.p != NULL && object.n <= DNS_LEARNT_TEXT_MAX);
	assert(name.p != NULL && name.n <= DNS_LEARNT_TEXT_MAX);
	memcpy(out, object.p, object.n);
	out[object.n] = '/';
	memcpy(out + object.n + 1, name.p, name.n);
	return (struct slice){ out, object.n + 1 + name.n };
}

static struct slice client_key(const uint64_t *id)
{
	return (struct slice){ (const char *)id, sizeof(*id) };
}

/* ---- changes of the zone ---- */

static void mark_dirty(struct egressfirewall_learnt *learnt, struct pair *pair)
{
	if (pair->dirty != NULL)
		return;
	pair->dirty_next = learnt->dirty;
	pair->dirty = &learnt->dirty;
	if (learnt->dirty != NULL)
		learnt->dirty->dirty = &pair->dirty_next;
	learnt->dirty = pair;
}

static void unmark_dirty(struct pair *pair)
{
	if (pair->dirty == NULL)
		return;
	*pair->dirty = pair->dirty_next;
	if (pair->dirty_next != NULL)
		pair->dirty_next->dirty = pair->dirty;
	pair->dirty = NULL;
}

static struct dns_learnt shown_record(const struct pair *pair)
{
	struct dns_learnt record = { .object = slice_of(pair->name->object->text),
				     .name = slice_of(pair->name->text),
				     .target = slice_of(pair->shown_target),
				     .ip_n = pair->ip_n,
				     .ttl_s = pair->shown_ttl_s,
				     .expires_s = pair->shown_expires_s,
				     .first_s = pair->shown_first_s,
				     .client = pair->shown_client };
	memcpy(record.ip, pair->ip, sizeof(record.ip));
	return record;
}

/* Stands for a client in the zone, the same on all servers; its address is not shown there. */
static uint64_t client_digest(uint64_t id)
{
	static const struct hash_key key = { 0x636c69656e74, 0x666169726c656164 };
	return hash_bytes(&key, &id, sizeof(id));
}

static void hide_pair(struct egressfirewall_learnt *learnt, struct pair *pair)
{
	if (pair->shown_ttl_s == 0)
		return;
	struct dns_learnt record = shown_record(pair);
	egressfirewall_journal_delete(learnt->journal, &record);
	pair->shown_ttl_s = 0;
}

static void show_pair(struct egressfirewall_learnt *learnt, struct pair *pair, int64_t to_wall_s)
{
	hide_pair(learnt, pair);
	pair->shown_ttl_s = pair->ttl_s;
	pair->shown_client = client_digest(pair->client->id);
	pair->shown_expires_s = pair->lease_s + (uint64_t)to_wall_s;
	if (pair->shown_first_s == 0)
		pair->shown_first_s = pair->first_s + (uint64_t)to_wall_s;
	free(pair->shown_target);
	pair->shown_target = xstrdup(pair->name->target);
	struct dns_learnt record = shown_record(pair);
	egressfirewall_journal_add(learnt->journal, &record);
}

bool egressfirewall_learnt_publish(struct egressfirewall_learnt *learnt, uint64_t now_s,
				   uint64_t wall_ns)
{
	int64_t to_wall_s = (int64_t)(wall_ns / NS_PER_S - now_s);
	while (learnt->dirty != NULL) {
		struct pair *pair = learnt->dirty;
		unmark_dirty(pair);
		show_pair(learnt, pair, to_wall_s);
	}
	return egressfirewall_journal_commit(learnt->journal, serial_at(wall_ns));
}

/* ---- leaving ---- */

static void drop_client(struct egressfirewall_learnt *learnt, struct client *client)
{
	assert(client->n != 0);
	if (--client->n != 0)
		return;
	map_del(&learnt->clients, client_key(&client->id));
	free(client);
}

static void drop_object(struct egressfirewall_learnt *learnt, struct object *object)
{
	assert(object->n_names != 0);
	if (--object->n_names != 0)
		return;
	assert(object->heap.n == 0);
	map_del(&learnt->objects, slice_of(object->text));
	egressfirewall_heap_done(&object->heap);
	egressfirewall_client_shares_done(&object->shares);
	free(object->text);
	free(object);
}

static void drop_name(struct egressfirewall_learnt *learnt, struct name *name)
{
	char key[2 * DNS_LEARNT_TEXT_MAX + 1];
	assert(name->n == 0 && name->pairs == NULL);
	map_del(&learnt->names, name_key(slice_of(name->object->text), slice_of(name->text), key));
	drop_object(learnt, name->object);
	free(name->text);
	free(name->target);
	free(name);
}

static void drop_pair(struct egressfirewall_learnt *learnt, struct pair *pair)
{
	struct name *name = pair->name;
	struct pair **at = &name->pairs;
	hide_pair(learnt, pair);
	unmark_dirty(pair);
	egressfirewall_heap_remove(&learnt->all, &pair->item);
	egressfirewall_heap_remove(&name->object->heap, &pair->item);
	egressfirewall_client_shares_remove(&name->object->shares, pair->share, &pair->item);
	while (*at != pair)
		at = &(*at)->next;
	*at = pair->next;
	drop_client(learnt, pair->client);
	free(pair->shown_target);
	free(pair);
	if (--name->n == 0)
		drop_name(learnt, name);
}

static struct pair *pair_of(struct egressfirewall_heap_item *item)
{
	return item != NULL ? CONTAINER_OF(item, struct pair, item) : NULL;
}

void egressfirewall_learnt_free(struct egressfirewall_learnt *learnt)
{
	if (learnt == NULL)
		return;
	for (struct pair *p; (p = pair_of(egressfirewall_heap_first(&learnt->all))) != NULL;)
		drop_pair(learnt, p);
	egressfirewall_heap_done(&learnt->all);
	egressfirewall_journal_free(learnt->journal);
	map_done(&learnt->objects);
	map_done(&learnt->names);
	map_done(&learnt->clients);
	free(learnt);
}

static void set_due(struct egressfirewall_learnt *learnt, struct pair *pair)
{
	bool lags = pair->expires_s > pair->lease_s;
	pair->item.due_s = lags ? pair->lease_s - EGRESSFIREWALL_RENEW_S
				: pair->expires_s + EGRESSFIREWALL_GRACE_S;
	egressfirewall_heap_update(&learnt->all, &pair->item);
	egressfirewall_heap_update(&pair->name->object->heap, &pair->item);
	egressfirewall_heap_update(&pair->share->pairs, &pair->item);
}

void egressfirewall_learnt_expire(struct egressfirewall_learnt *learnt, uint64_t now_s)
{
	for (;;) {
		struct pair *p = pair_of(egressfirewall_heap_first(&learnt->all));
		if (p == NULL || p->item.due_s > now_s)
			return;
		if (p->expires_s > p->lease_s) {
			p->lease_s = p->expires_s;
			mark_dirty(learnt, p);
			set_due(learnt, p);
			continue;
		}
		drop_pair(learnt, p);
		learnt->counts.expired++;
	}
}

void egressfirewall_learnt_forget(struct egressfirewall_learnt *learnt, struct slice object)
{
	struct object *o;
	while ((o = map_get(&learnt->objects, object)) != NULL)
		drop_pair(learnt, pair_of(egressfirewall_heap_first(&o->heap)));
}

/* ---- limits ---- */

static void evict_pair(struct egressfirewall_learnt *learnt, struct pair *pair)
{
	if (learnt->on_evict.fn != NULL)
		learnt->on_evict.fn(learnt->on_evict.ctx, slice_of(pair->name->text), pair->ip,
				    pair->ip_n);
	drop_pair(learnt, pair);
}

static void evict_for(struct egressfirewall_learnt *learnt, const struct object *object,
		      uint64_t client)
{
	evict_pair(learnt, pair_of(egressfirewall_client_shares_victim(&object->shares, client)));
}

/* Room for one more name of the object. */
static void limit_names(struct egressfirewall_learnt *learnt,
			const struct egressfirewall_seen *seen)
{
	for (;;) {
		const struct object *o = map_get(&learnt->objects, seen->object);
		if (o == NULL || o->n_names < learnt->limits.names_per_object)
			return;
		evict_for(learnt, o, seen->client);
		learnt->counts.evicted_names++;
	}
}

/* Does the one make room before the other? It has more, or as many and one that expires first. */
static bool makes_room_before(const struct object *left, const struct object *right)
{
	if (left->heap.n != right->heap.n)
		return left->heap.n > right->heap.n;
	return egressfirewall_heap_first(&left->heap)->due_s <
	       egressfirewall_heap_first(&right->heap)->due_s;
}

static struct object *largest_object(const struct egressfirewall_learnt *learnt)
{
	struct object *largest = NULL;
	const struct map_entry *e;
	size_t pos = 0;
	while ((e = map_next(&learnt->objects, &pos)) != NULL) {
		if (largest == NULL || makes_room_before(e->value, largest))
			largest = e->value;
	}
	return largest;
}

/* Which object gives up a pair for one of this object: its own if it has as many as each could have, else that of
 * the one that has most. So clients that fill one object drive out no pair of others, and all objects are
 * looked at only for one that has few. */
static struct object *who_makes_room(const struct egressfirewall_learnt *learnt,
				     struct slice object)
{
	struct object *o = map_get(&learnt->objects, object);
	size_t part = learnt->limits.pairs / (learnt->objects.n + (o == NULL));
	return o != NULL && o->heap.n >= part ? o : largest_object(learnt);
}

/* Room for one more pair. */
static void limit_pairs(struct egressfirewall_learnt *learnt,
			const struct egressfirewall_seen *seen)
{
	while (learnt->all.n >= learnt->limits.pairs) {
		evict_for(learnt, who_makes_room(learnt, seen->object), seen->client);
		learnt->counts.evicted_pairs++;
	}
}

/* Counts the pairs of the name for each client that has some; returns those of `client`. */
static uint32_t count_clients(const struct name *name, uint64_t client)
{
	uint32_t own = 0;
	for (const struct pair *p = name->pairs; p != NULL; p = p->next)
		p->client->n_of_name = 0;
	for (const struct pair *p = name->pairs; p != NULL; p = p->next) {
		p->client->n_of_name++;
		own += p->client->id == client;
	}
	return own;
}

/* The pair of the name that makes room for one of the client: see egressfirewall_client_shares_victim. */
static struct pair *victim_of_name(const struct name *name, uint64_t client)
{
	uint32_t own = count_clients(name, client), most = 0;
	struct pair *victim = NULL;
	for (const struct pair *p = name->pairs; p != NULL; p = p->next)
		most = MAX(most, p->client->n_of_name);
	bool is_own = own != 0 && most <= own + 1;
	for (struct pair *p = name->pairs; p != NULL; p = p->next) {
		bool fits = is_own ? p->client->id == client : p->client->n_of_name == most;
		if (fits && (victim == NULL || p->expires_s < victim->expires_s))
			victim = p;
	}
	return victim;
}

/* Room for one more address of the name, which keeps at least one. */
static void limit_ips(struct egressfirewall_learnt *learnt, struct name *name, uint64_t client)
{
	while (name->n >= learnt->limits.ips_per_name && name->n > 1) {
		evict_pair(learnt, victim_of_name(name, client));
		learnt->counts.evicted_ips++;
	}
}

/* ---- adding ---- */

static struct object *get_object(struct egressfirewall_learnt *learnt, struct slice text)
{
	struct object *o = map_get(&learnt->objects, text);
	if (o != NULL)
		return o;
	o = xcalloc(1, sizeof(*o));
	o->text = xstrndup(text.p, text.n);
	o->heap.kind = EGRESSFIREWALL_HEAP_OBJECT;
	egressfirewall_client_shares_init(&o->shares);
	map_set(&learnt->objects, text, o);
	return o;
}

static struct name *get_name(struct egressfirewall_learnt *learnt,
			     const struct egressfirewall_seen *seen, struct slice key)
{
	struct name *n = map_get(&learnt->names, key);
	if (n != NULL)
		return n;
	limit_names(learnt, seen);
	n = xcalloc(1, sizeof(*n));
	n->object = get_object(learnt, seen->object);
	n->object->n_names++;
	n->text = xstrndup(seen->name.p, seen->name.n);
	n->target = xstrndup(seen->target.n != 0 ? seen->target.p : "", seen->target.n);
	map_set(&learnt->names, key, n);
	return n;
}

static struct client *get_client(struct egressfirewall_learnt *learnt, uint64_t id)
{
	struct client *c = map_get(&learnt->clients, client_key(&id));
	if (c != NULL)
		return c;
	c = xcalloc(1, sizeof(*c));
	c->id = id;
	map_set(&learnt->clients, client_key(&id), c);
	return c;
}

static struct pair *find_pair(const struct name *name, const struct egressfirewall_seen *seen)
{
	struct pair *p = name != NULL ? name->pairs : NULL;
	while (p != NULL && (p->ip_n != seen->ip_n || memcmp(p->ip, seen->ip, seen->ip_n) != 0))
		p = p->next;
	return p;
}

static bool is_over_client_limit(const struct egressfirewall_learnt *learnt,
				 const struct egressfirewall_seen *seen)
{
	const struct client *c = map_get(&learnt->clients, client_key(&seen->client));
	return c != NULL && c->n >= learnt->limits.pairs_per_client;
}

static void add_pair(struct egressfirewall_learnt *learnt, struct name *name,
		     const struct egressfirewall_seen *seen, uint32_t ttl_s, uint64_t now_s)
{
	struct pair *p = xcalloc(1, sizeof(*p));
	p->name = name;
	p->client = get_client(learnt, seen->client);
	p->client->n++;
	p->next = name->pairs;
	name->pairs = p;
	name->n++;
	memcpy(p->ip, seen->ip, seen->ip_n);
	p->ip_n = seen->ip_n;
	p->ttl_s = ttl_s;
	p->first_s = now_s;
	p->expires_s = p->lease_s = now_s + ttl_s;
	p->item.due_s = p->expires_s + EGRESSFIREWALL_GRACE_S;
	egressfirewall_heap_add(&learnt->all, &p->item);
	egressfirewall_heap_add(&name->object->heap, &p->item);
	p->share = egressfirewall_client_shares_add(&name->object->shares, seen->client, &p->item);
	mark_dirty(learnt, p);
}

static void set_target(struct name *name, struct slice target)
{
	if (slice_eq(slice_of(name->target), target))
		return;
	free(name->target);
	name->target = xstrndup(target.n != 0 ? target.p : "", target.n);
}

/* A pair that several clients get counts for the one that has least of the object: otherwise a client that asks
 * for the names of others before they do would drive them out with its own. */
static void move_to_modest_client(struct egressfirewall_learnt *learnt, struct pair *pair,
				  const struct egressfirewall_seen *seen)
{
	struct egressfirewall_client_shares *shares = &pair->name->object->shares;
	if (pair->client->id == seen->client || is_over_client_limit(learnt, seen) ||
	    egressfirewall_client_shares_count(shares, seen->client) + 1 >= pair->share->pairs.n)
		return;
	egressfirewall_client_shares_remove(shares, pair->share, &pair->item);
	drop_client(learnt, pair->client);
	pair->client = get_client(learnt, seen->client);
	pair->client->n++;
	pair->share = egressfirewall_client_shares_add(shares, seen->client, &pair->item);
	mark_dirty(learnt, pair);
}

/* The lease follows when it is about to end; see egressfirewall_learnt_expire. */
static enum egressfirewall_result extend_pair(struct egressfirewall_learnt *learnt,
					      struct pair *pair,
					      const struct egressfirewall_seen *seen,
					      uint32_t ttl_s, uint64_t now_s)
{
	move_to_modest_client(learnt, pair, seen);
	if (now_s + ttl_s <= pair->expires_s)
		return EGRESSFIREWALL_KNOWN;
	pair->expires_s = now_s + ttl_s;
	pair->ttl_s = ttl_s;
	set_target(pair->name, seen->target);
	set_due(learnt, pair);
	return EGRESSFIREWALL_EXTENDED;
}

enum egressfirewall_result egressfirewall_learnt_add(struct egressfirewall_learnt *learnt,
						     const struct egressfirewall_seen *seen,
						     uint64_t now_s)
{
	char text[2 * DNS_LEARNT_TEXT_MAX + 1];
	struct slice key = name_key(seen->object, seen->name, text);
	uint32_t ttl_s = MIN(MAX(seen->ttl_s, EGRESSFIREWALL_TTL_MIN_S), EGRESSFIREWALL_TTL_MAX_S);
	assert(seen->ip_n == 4 || seen->ip_n == 16);
	struct name *name = map_get(&learnt->names, key);
	struct pair *pair = find_pair(name, seen);
	if (pair != NULL)
		return extend_pair(learnt, pair, seen, ttl_s, now_s);
	if (is_over_client_limit(learnt, seen))
		return EGRESSFIREWALL_OVER_CLIENT_LIMIT;
	limit_pairs(learnt, seen); /* may take the name away */
	name = get_name(learnt, seen, key);
	limit_ips(learnt, name, seen->client);
	add_pair(learnt, name, seen, ttl_s, now_s);
	return EGRESSFIREWALL_NEW;
}

/* ---- copies ---- */

struct zone_copy *egressfirewall_learnt_copy(struct egressfirewall_learnt *learnt, uint64_t now_s,
					     uint64_t wall_ns)
{
	egressfirewall_learnt_publish(learnt, now_s, wall_ns);
	struct zone_copy *copy =
		egressfirewall_zone_copy_new(egressfirewall_journal_serial(learnt->journal));
	for (size_t i = 0; i < learnt->all.n; i++) {
		struct dns_learnt record = shown_record(pair_of(learnt->all.v[i]));
		assert(record.ttl_s != 0); /* all are shown now */
		egressfirewall_zone_copy_add(copy, &record);
	}
	return copy;
}

struct zone_copy *egressfirewall_learnt_changes(struct egressfirewall_learnt *learnt,
						uint32_t serial, uint64_t now_s, uint64_t wall_ns)
{
	egressfirewall_learnt_publish(learnt, now_s, wall_ns);
	return egressfirewall_journal_since(learnt->journal, serial);
}

uint32_t egressfirewall_learnt_serial(const struct egressfirewall_learnt *learnt)
{
	return egressfirewall_journal_serial(learnt->journal);
}

struct egressfirewall_learnt_counts egressfirewall_learnt_counts(
	const struct egressfirewall_learnt *learnt)
{
	struct egressfirewall_learnt_counts counts = learnt->counts;
	counts.pairs = learnt->all.n;
	counts.names = learnt->names.n;
	return counts;
}
