/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Allocation: the lowest free address, turns of waiting claims, and no address for two claims over
 * random histories. A table of flags stands for the IPAddress objects of the API. */
#include "controller/ipam/allocation/allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "api/tree.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "controller/ipam/allocation/pool_spec.h"

enum { SPACE = 64, CLAIMS = 90 };
#define POOL	   "InClusterIPPool/ns/pool"
#define OTHER_POOL "InClusterIPPool/ns/other"

/* The objects as the watch has shown them, the claims that were woken, and the pools that share addresses
 * with a changed one. */
static unsigned objects[SPACE];
static struct strbuf woken, overlapping;

/* Those of other pools, for which `objects` has no place. */
struct object {
	const char *pool;
	sa_family_t family;
	net_ip_number number;
	uint8_t bits;
};
static VEC(struct object) others;

static void each_with(void *ctx, struct ipam_block block, bool (*fn)(void *arg, const char *pool),
		      void *arg)
{
	(void)ctx;
	if (block.family == AF_INET && block.first < SPACE && objects[block.first] > 0 &&
	    !fn(arg, POOL))
		return;
	for (size_t i = 0; i < others.n; i++) {
		const struct object *object = &others.v[i];
		if (object->family == block.family && object->bits == block.bits &&
		    object->number == block.first && !fn(arg, object->pool))
			return;
	}
}

static void each_object(void *ctx, const char *pool, ipam_object_fn fn, void *arg)
{
	(void)ctx;
	for (net_ip_number i = 0; i < SPACE; i++) {
		if (objects[i] > 0 && (pool == NULL || strcmp(pool, POOL) == 0))
			fn(arg, POOL, ipam_block_of_one(AF_INET, i));
	}
	for (size_t i = 0; i < others.n; i++) {
		const struct object *object = &others.v[i];
		if (pool == NULL || strcmp(pool, object->pool) == 0)
			fn(arg, object->pool,
			   (struct ipam_block){ object->family, object->bits, object->number });
	}
}

/* Claims that have made no pass yet: their names are in the order of their age, from the youngest. */
static const char *open_claims;

static void each_open(void *ctx, const char *pool,
		      void (*fn)(void *arg, const char *claim, int64_t created_s), void *arg)
{
	(void)ctx;
	assert_string_equal(pool, POOL);
	for (const char *at = open_claims; *at != '\0'; at++)
		fn(arg, (char[]){ *at, '\0' }, 100 - *at);
}

static void wake(void *ctx, const char *claim)
{
	(void)ctx;
	strbuf_addf(&woken, "%s ", claim);
}

static void note_overlap(void *ctx, const char *pool)
{
	(void)ctx;
	strbuf_addf(&overlapping, "%s ", pool);
}

static const struct ipam_used used = { each_with, each_object, each_open, wake, note_overlap };

static void set_network_pool(struct ipam_allocator *allocator, const char *pool,
			     const char *network, sa_family_t family, struct net_ip_range range)
{
	struct ipam_pool_spec spec = { .family = family };
	net_ip_ranges_add(&spec.usable, range);
	ipam_allocator_set_pool(allocator, NULL, pool, network, &spec);
	ipam_pool_spec_done(&spec);
}

static void set_pool(struct ipam_allocator *allocator, const char *pool, sa_family_t family,
		     struct net_ip_range range)
{
	set_network_pool(allocator, pool, "", family, range);
}

static void set_range(struct ipam_allocator *allocator, net_ip_number first, net_ip_number last)
{
	set_pool(allocator, POOL, AF_INET, (struct net_ip_range){ first, last });
}

static int start(void **state)
{
	struct ipam_allocator *allocator = ipam_allocator_new(&used);
	memset(objects, 0, sizeof(objects));
	strbuf_reset(&woken);
	*state = allocator;
	return 0;
}

static int stop(void **state)
{
	ipam_allocator_free(*state);
	strbuf_done(&woken);
	strbuf_done(&overlapping);
	vec_done(&others);
	others.v = NULL;
	others.n = 0;
	return 0;
}

static void expect_take(struct ipam_allocator *allocator, const char *claim, int64_t created_s,
			net_ip_number wanted)
{
	net_ip_number number = 999;
	assert_int_equal(ipam_allocator_take(allocator, NULL, POOL, claim, created_s, &number),
			 IPAM_TAKEN);
	assert_int_equal((int)number, (int)wanted);
}

static void expect_exhausted(struct ipam_allocator *allocator, const char *claim, int64_t created_s)
{
	net_ip_number number;
	assert_int_equal(ipam_allocator_take(allocator, NULL, POOL, claim, created_s, &number),
			 IPAM_EXHAUSTED);
}

static void set_object(struct ipam_allocator *allocator, net_ip_number number, bool exists)
{
	objects[number] = exists;
	ipam_allocator_note(allocator, NULL, POOL, ipam_block_of_one(AF_INET, number));
}

/* PR-4: the lowest free one; a claim that asks again gets the same. */
static void lowest_free(void **state)
{
	struct ipam_allocator *a = *state;
	net_ip_number number;
	assert_int_equal(ipam_allocator_take(a, NULL, POOL, "a", 1, &number), IPAM_NO_POOL);
	objects[11] = 1;
	set_range(a, 10, 13);
	expect_take(a, "a", 1, 10);
	expect_take(a, "b", 1, 12);
	expect_take(a, "a", 1, 10);
	set_object(a, 11, false);
	expect_take(a, "c", 1, 11);
	/* The object of an address that was reserved, seen and deleted. */
	set_object(a, 12, true);
	ipam_allocator_forget(a, NULL, "b");
	expect_take(a, "d", 1, 13);
	set_object(a, 12, false);
	expect_take(a, "e", 1, 12);
}

/* PR-9: claims that wait are served by age, and nobody overtakes them. */
static void waiting_in_order(void **state)
{
	struct ipam_allocator *a = *state;
	set_range(a, 10, 10);
	expect_take(a, "first", 1, 10);
	expect_exhausted(a, "young", 9);
	expect_exhausted(a, "old", 3);
	expect_exhausted(a, "older", 2);
	set_object(a, 10, true);
	ipam_allocator_forget(a, NULL, "first");
	strbuf_reset(&woken);
	set_object(a, 10, false);
	assert_string_equal(woken.s, "older ");
	expect_exhausted(a, "new", 10);
	expect_exhausted(a, "young", 9);
	/* The oldest has gone meanwhile: the next one is woken. */
	strbuf_reset(&woken);
	ipam_allocator_forget(a, NULL, "older");
	assert_string_equal(woken.s, "old ");
	expect_take(a, "old", 3, 10);
	strbuf_reset(&woken);
	set_range(a, 10, 12);
	assert_string_equal(woken.s, "young new ");
	expect_take(a, "new", 10, 11);
	expect_take(a, "young", 9, 12);
}

/* PR-9: claims that the allocator did not know are served by age, whichever asks first. */
static void entered_in_order(void **state)
{
	struct ipam_allocator *a = *state;
	open_claims = "cadb";
	ipam_allocator_enter_claims(a, NULL, POOL); /* no such pool */
	set_range(a, 10, 11);
	strbuf_reset(&woken);
	ipam_allocator_enter_claims(a, NULL, POOL);
	assert_string_equal(woken.s, "d c ");
	expect_exhausted(a, "a", 100 - 'a');
	expect_take(a, "c", 100 - 'c', 10);
	/* A second time: neither those that wait nor the one with a reservation are added. */
	ipam_allocator_enter_claims(a, NULL, POOL);
	ipam_allocator_forget(a, NULL, "d");
	expect_take(a, "b", 100 - 'b', 11);
	expect_take(a, "c", 100 - 'c', 10);
	set_range(a, 10, 12);
	expect_take(a, "a", 100 - 'a', 12);
	expect_exhausted(a, "d", 100 - 'd');
}

/* Where all can be served, none has to wait for another one's turn. */
static void enough_for_all(void **state)
{
	struct ipam_allocator *a = *state;
	open_claims = "ab";
	set_range(a, 10, 11);
	strbuf_reset(&woken);
	ipam_allocator_enter_claims(a, NULL, POOL);
	assert_int_equal(woken.n, 0);
	expect_take(a, "a", 100 - 'a', 10);
	expect_take(a, "b", 100 - 'b', 11);
}

/* A claim that is made anew under its name has one turn, that of its own age. */
static void made_anew(void **state)
{
	struct ipam_allocator *a = *state;
	set_range(a, 10, 10);
	expect_take(a, "first", 1, 10);
	expect_exhausted(a, "again", 2);
	expect_exhausted(a, "other", 3);
	expect_exhausted(a, "again", 4);
	ipam_allocator_forget(a, NULL, "first");
	expect_exhausted(a, "again", 4);
	expect_take(a, "other", 3, 10);
	ipam_allocator_forget(a, NULL, "other");
	expect_take(a, "again", 4, 10);
}

/* A claim that waits is removed by force and made anew under another pool, before a pass sees that it was
 * gone: in the old pool it holds up nobody. */
static void made_anew_elsewhere(void **state)
{
	struct ipam_allocator *a = *state;
	net_ip_number number;
	set_range(a, 10, 10);
	set_pool(a, OTHER_POOL, AF_INET, (struct net_ip_range){ 40, 40 });
	expect_take(a, "first", 1, 10);
	expect_exhausted(a, "moved", 2);
	expect_exhausted(a, "next", 3);
	assert_int_equal(ipam_allocator_take(a, NULL, OTHER_POOL, "moved", 4, &number), IPAM_TAKEN);
	assert_int_equal((int)number, 40);
	strbuf_reset(&woken);
	ipam_allocator_forget(a, NULL, "first");
	assert_string_equal(woken.s, "next ");
	expect_take(a, "next", 3, 10);
	/* What it had reserved there comes free as well. */
	strbuf_reset(&woken);
	expect_exhausted(a, "last", 5);
	assert_int_equal(ipam_allocator_take(a, NULL, OTHER_POOL, "next", 6, &number),
			 IPAM_EXHAUSTED);
	assert_string_equal(woken.s, "last ");
	expect_take(a, "last", 5, 10);
}

/* The same if it takes nothing in its new pool, because that does not exist or is paused, or if the new pool
 * enters its claims. */
static void left_behind(void **state)
{
	struct ipam_allocator *a = *state;
	set_range(a, 10, 10);
	expect_take(a, "first", 1, 10);
	expect_exhausted(a, "moved", 2);
	expect_exhausted(a, "next", 3);
	ipam_allocator_leave_others(a, NULL, POOL, "moved"); /* not elsewhere */
	ipam_allocator_forget(a, NULL, "first");
	expect_exhausted(a, "next", 3);
	strbuf_reset(&woken);
	ipam_allocator_leave_others(a, NULL, OTHER_POOL, "moved");
	assert_string_equal(woken.s, "next ");
	expect_take(a, "next", 3, 10);
}

static void entered_elsewhere(void **state)
{
	struct ipam_allocator *a = *state;
	set_pool(a, OTHER_POOL, AF_INET, (struct net_ip_range){ 40, 40 });
	net_ip_number number;
	assert_int_equal(ipam_allocator_take(a, NULL, OTHER_POOL, "z", 1, &number), IPAM_TAKEN);
	assert_int_equal(ipam_allocator_take(a, NULL, OTHER_POOL, "a", 2, &number), IPAM_EXHAUSTED);
	assert_int_equal(ipam_allocator_take(a, NULL, OTHER_POOL, "y", 3, &number), IPAM_EXHAUSTED);
	set_range(a, 10, 10);
	open_claims = "ab";
	ipam_allocator_enter_claims(a, NULL, POOL);
	strbuf_reset(&woken);
	ipam_allocator_forget(a, NULL, "z");
	assert_string_equal(woken.s, "y ");
	expect_take(a, "b", 100 - 'b', 10);
	expect_exhausted(a, "a", 100 - 'a');
}

/* Edits of the pool neither free what is in use nor forget what is reserved. */
static void pool_edits(void **state)
{
	struct ipam_allocator *a = *state;
	set_range(a, 10, 12);
	expect_take(a, "a", 1, 10);
	set_object(a, 11, true);
	set_range(a, 20, 21);
	expect_take(a, "a", 1, 10);
	expect_take(a, "b", 1, 20);
	/* Out of range now: free again only when the pool has it again. */
	set_object(a, 11, false);
	ipam_allocator_forget(a, NULL, "a");
	expect_take(a, "c", 1, 21);
	expect_exhausted(a, "d", 1);
	set_range(a, 10, 21);
	expect_take(a, "d", 1, 10);
	ipam_allocator_drop_pool(a, NULL, POOL);
	net_ip_number number;
	assert_int_equal(ipam_allocator_take(a, NULL, POOL, "d", 1, &number), IPAM_NO_POOL);
}

static void expect_overlaps(const char *wanted)
{
	assert_string_equal(overlapping.n != 0 ? overlapping.s : "", wanted);
	strbuf_reset(&overlapping);
}

/* PR-13: the pools that share addresses with one that is added, changed or dropped, before or after. */
static void overlaps(void **state)
{
	struct ipam_allocator *a = *state;
	set_pool(a, "one", AF_INET, (struct net_ip_range){ 10, 19 });
	set_pool(a, "two", AF_INET, (struct net_ip_range){ 20, 29 });
	set_pool(a, "six", AF_INET6, (struct net_ip_range){ 10, 29 });
	expect_overlaps("");
	set_pool(a, "new", AF_INET, (struct net_ip_range){ 19, 19 });
	expect_overlaps("one ");
	set_pool(a, "new", AF_INET, (struct net_ip_range){ 25, 99 });
	expect_overlaps("one two ");
	ipam_allocator_drop_pool(a, NULL, "new");
	expect_overlaps("two ");
	ipam_allocator_drop_pool(a, NULL, "new");
	expect_overlaps("");
}

static void list_overlap(void *arg, const char *pool, union net_addr first)
{
	char text[NET_ADDR_TEXT_MAX];
	net_addr_ip_str(&first, text);
	strbuf_addf(arg, "%s from %s ", pool, text);
}

static void listed_overlaps(void **state)
{
	struct ipam_allocator *a = *state;
	CLEANUP(strbuf_done) struct strbuf list = STRBUF_INIT;
	set_pool(a, "one", AF_INET, (struct net_ip_range){ 10, 19 });
	set_pool(a, "two", AF_INET, (struct net_ip_range){ 15, 29 });
	set_pool(a, "far", AF_INET, (struct net_ip_range){ 40, 49 });
	set_pool(a, "six", AF_INET6, (struct net_ip_range){ 10, 29 });
	set_pool(a, "all", AF_INET, (struct net_ip_range){ 0, 99 });
	ipam_allocator_each_overlap(a, "one", list_overlap, &list);
	assert_string_equal(list.s, "two from 0.0.0.15 all from 0.0.0.10 ");
	strbuf_reset(&list);
	ipam_allocator_each_overlap(a, "six", list_overlap, &list);
	ipam_allocator_each_overlap(a, "none", list_overlap, &list);
	assert_int_equal(list.n, 0);
}

enum { MANY_POOLS = 300, ENTRIES = 100 };

static json_t *spec_of(unsigned number)
{
	json_t *addresses = json_array();
	for (unsigned i = 0; i < ENTRIES; i++)
		json_array_append_new(addresses, json_sprintf("10.%u.%u.%u", number / 256,
							      number % 256, 2 * i + 1));
	return json_pack("{s:o, s:i}", "addresses", addresses, "prefix", 8);
}

static uint64_t cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void count_overlap(void *arg, const char *pool, union net_addr first)
{
	(void)pool;
	(void)first;
	++*(unsigned *)arg;
}

/* Many pools are set, and each is compared with all others, in less time than it takes to read each spec ten
 * times: specs are not read for it, and most pools are found to lie apart at once. */
static void work_of_many_overlaps(void **state)
{
	struct ipam_allocator *a = *state;
	unsigned found = 0;
	char name[32], error[256];
	uint64_t read_ns = 0, begin = cpu_ns();
	for (unsigned i = 0; i < MANY_POOLS; i++) {
		json_t *json = spec_of(i);
		struct ipam_pool_spec spec;
		uint64_t before = cpu_ns();
		assert_int_equal(ipam_pool_spec_read(json, &spec, ERR_TEXT(error)), 0);
		read_ns += cpu_ns() - before;
		snprintf(name, sizeof(name), "pool %u", i);
		ipam_allocator_set_pool(a, NULL, name, "", &spec);
		ipam_pool_spec_done(&spec);
		json_decref(json);
	}
	for (unsigned i = 0; i < MANY_POOLS; i++) {
		snprintf(name, sizeof(name), "pool %u", i);
		ipam_allocator_each_overlap(a, name, count_overlap, &found);
	}
	assert_int_equal(found, 0);
	assert_true(cpu_ns() - begin < 10 * read_ns);
}

/* ---- random histories ---- */

struct model {
	int holds[CLAIMS];    /* the address that the claim took; -1: none */
	bool created[CLAIMS]; /* its object exists in the API */
	bool shown[CLAIMS];   /* and the watch has shown it */
};

static uint32_t seed;

static uint32_t next_random(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed % below;
}

static void name_of(size_t claim, char out[16])
{
	snprintf(out, 16, "ns/c%zu", claim);
}

static void try_take(struct ipam_allocator *a, struct model *m, size_t claim)
{
	char name[16];
	net_ip_number number;
	name_of(claim, name);
	if (m->created[claim] ||
	    ipam_allocator_take(a, NULL, POOL, name, (int64_t)claim, &number) != IPAM_TAKEN)
		return;
	assert_true(m->holds[claim] < 0 || m->holds[claim] == (int)number);
	m->holds[claim] = (int)number;
	for (size_t i = 0; i < CLAIMS; i++) {
		if (i != claim && m->holds[i] == (int)number)
			fail_msg("address %d for claims %zu and %zu", (int)number, i, claim);
	}
}

/* A step of a claim's life, as a controller would do it, or a crash in between. */
static void step(struct ipam_allocator **a, struct model *m)
{
	char name[16];
	size_t claim = next_random(CLAIMS);
	name_of(claim, name);
	switch (next_random(7)) {
	case 0:
	case 1:
		try_take(*a, m, claim);
		break;
	case 2: /* the create succeeded */
		m->created[claim] |= m->holds[claim] >= 0;
		break;
	case 3: /* the watch shows it; the claim is bound */
		if (m->created[claim] && !m->shown[claim]) {
			m->shown[claim] = true;
			objects[m->holds[claim]]++;
			ipam_allocator_note(
				*a, NULL, POOL,
				ipam_block_of_one(AF_INET, (net_ip_number)m->holds[claim]));
			ipam_allocator_forget(*a, NULL, name);
		}
		break;
	case 4: /* the claim is deleted, and the watch shows that its object is gone */
		if (m->shown[claim]) {
			objects[m->holds[claim]]--;
			ipam_allocator_note(
				*a, NULL, POOL,
				ipam_block_of_one(AF_INET, (net_ip_number)m->holds[claim]));
		} else if (m->created[claim]) {
			break; /* it is first seen */
		}
		ipam_allocator_forget(*a, NULL, name);
		m->holds[claim] = -1;
		m->created[claim] = m->shown[claim] = false;
		break;
	case 5: { /* the pool is edited */
		net_ip_number first = next_random(SPACE),
			      last = first + next_random(SPACE - (uint32_t)first);
		set_range(*a, first, last);
		break;
	}
	default: /* seldom: the process is killed and starts with what the API has */
		if (next_random(20) != 0)
			break;
		ipam_allocator_free(*a);
		*a = ipam_allocator_new(&used);
		memset(objects, 0, sizeof(objects));
		for (size_t i = 0; i < CLAIMS; i++) {
			m->shown[i] = m->created[i];
			if (!m->created[i])
				m->holds[i] = -1;
			else
				objects[m->holds[i]]++;
		}
		set_range(*a, 0, SPACE - 1);
	}
}

/* PR-5: no address for two claims, over claims, deletions, restarts and edits. */
static void never_twice(void **state)
{
	struct ipam_allocator *a = *state;
	struct model m;
	for (uint32_t round = 1; round <= 200; round++) {
		memset(&m, 0, sizeof(m));
		for (size_t i = 0; i < CLAIMS; i++)
			m.holds[i] = -1;
		memset(objects, 0, sizeof(objects));
		ipam_allocator_free(a);
		a = ipam_allocator_new(&used);
		seed = round * 2654435761U;
		set_range(a, 0, SPACE - 1);
		for (int i = 0; i < 2000; i++)
			step(&a, &m);
		strbuf_reset(&woken);
	}
	*state = a;
}

/* ---- pools with common addresses ---- */

static int take_from(struct ipam_allocator *a, const char *pool, const char *claim)
{
	net_ip_number number;
	return ipam_allocator_take(a, NULL, pool, claim, 1, &number) == IPAM_TAKEN ? (int)number
										   : -1;
}

/* The object appears, as the watch shows it. */
static void add_other(struct ipam_allocator *a, const char *pool, sa_family_t family, int number)
{
	vec_push(&others, (struct object){ pool, family, (net_ip_number)number, 0 });
	ipam_allocator_note(a, NULL, pool, ipam_block_of_one(family, (net_ip_number)number));
}

static void remove_other(struct ipam_allocator *a, size_t at)
{
	struct object gone = others.v[at];
	others.v[at] = others.v[--others.n];
	ipam_allocator_note(a, NULL, gone.pool, ipam_block_of_one(gone.family, gone.number));
}

/* An address that one pool has reserved or in use is not free in another one of the network. */
static void shared_addresses(void **state)
{
	struct ipam_allocator *a = *state;
	set_pool(a, "one", AF_INET, (struct net_ip_range){ 10, 12 });
	set_pool(a, "two", AF_INET, (struct net_ip_range){ 10, 13 });
	set_pool(a, "six", AF_INET6, (struct net_ip_range){ 10, 13 });
	assert_int_equal(take_from(a, "one", "a"), 10);
	assert_int_equal(take_from(a, "two", "b"), 11);
	assert_int_equal(take_from(a, "six", "c"), 10);
	add_other(a, "one", AF_INET, 10);
	ipam_allocator_forget(a, NULL, "a");
	assert_int_equal(take_from(a, "two", "d"), 12);
	assert_int_equal(take_from(a, "one", "e"), -1);
	/* What comes free in one pool serves a claim that waits for the other. */
	strbuf_reset(&woken);
	ipam_allocator_forget(a, NULL, "d");
	assert_string_equal(woken.s, "e ");
	assert_int_equal(take_from(a, "one", "e"), 12);
	strbuf_reset(&woken);
	assert_int_equal(take_from(a, "two", "f"), 13);
	assert_int_equal(take_from(a, "two", "g"), -1);
	remove_other(a, 0);
	assert_string_equal(woken.s, "g ");
	assert_int_equal(take_from(a, "two", "g"), 10);
}

/* ---- pools of prefixes ---- */

static void set_blocks(struct ipam_allocator *allocator, const char *pool, uint8_t bits,
		       struct net_ip_range range)
{
	struct ipam_pool_spec spec = { .family = AF_INET6, .bits = bits };
	net_ip_ranges_add(&spec.usable, range);
	ipam_allocator_set_pool(allocator, NULL, pool, "", &spec);
	ipam_pool_spec_done(&spec);
}

static void note_blocks(struct ipam_allocator *allocator, const char *pool, uint8_t bits, int first,
			bool exists)
{
	struct ipam_block block = { AF_INET6, bits, (net_ip_number)first };
	for (size_t i = others.n; !exists && i-- > 0;) {
		if (others.v[i].bits == bits && others.v[i].number == block.first)
			others.v[i] = others.v[--others.n];
	}
	if (exists)
		vec_push(&others, (struct object){ pool, AF_INET6, block.first, bits });
	ipam_allocator_note(allocator, NULL, pool, block);
}

/* Blocks of 16, blocks of 4 and single addresses of one network: no two of them have an address in common,
 * and what comes free is free for all of them. */
static void blocks_of_several_sizes(void **state)
{
	struct ipam_allocator *a = *state;
	set_blocks(a, "sixteen", 4, (struct net_ip_range){ 0, 63 });
	set_blocks(a, "four", 2, (struct net_ip_range){ 0, 31 });
	set_pool(a, "one", AF_INET6, (struct net_ip_range){ 6, 20 });
	assert_int_equal(take_from(a, "four", "a"), 0);
	assert_int_equal(take_from(a, "four", "b"), 4);
	assert_int_equal(take_from(a, "one", "c"), 8);
	assert_int_equal(take_from(a, "four", "d"), 12);
	assert_int_equal(take_from(a, "sixteen", "e"), 16);
	assert_int_equal(take_from(a, "one", "f"), 9);
	assert_int_equal(take_from(a, "four", "g"), -1); /* 8 has c, 16 and up have e */
	/* Its objects: a block of 16 goes, and the one of 4 in it stays in use. */
	note_blocks(a, "sixteen", 4, 16, true);
	ipam_allocator_forget(a, NULL, "e");
	note_blocks(a, "four", 2, 20, true); /* made by another process */
	strbuf_reset(&woken);
	note_blocks(a, "sixteen", 4, 16, false);
	assert_non_null(strstr(woken.s, "g "));
	assert_int_equal(take_from(a, "four", "g"), 16);
	assert_int_equal(take_from(a, "four", "h"), 24);
	assert_int_equal(take_from(a, "sixteen", "i"), 32);
	/* All that a block of 16 waits for. */
	assert_int_equal(take_from(a, "sixteen", "j"), 48);
	assert_int_equal(take_from(a, "sixteen", "k"), -1);
	ipam_allocator_forget(a, NULL, "a");
	ipam_allocator_forget(a, NULL, "b");
	ipam_allocator_forget(a, NULL, "c");
	ipam_allocator_forget(a, NULL, "d");
	assert_int_equal(take_from(a, "sixteen", "k"), -1);
	strbuf_reset(&woken);
	ipam_allocator_forget(a, NULL, "f");
	assert_non_null(strstr(woken.s, "k "));
	assert_int_equal(take_from(a, "sixteen", "k"), 0);
	assert_int_equal(take_from(a, "one", "l"), -1);
}

/* A pool that is deleted and created again under its name, with blocks of another size or family, before a pass
 * sees that it was missing: claims do not get blocks that were reserved in the previous one. */
static void pool_of_another_size(void **state)
{
	struct ipam_allocator *a = *state;
	set_blocks(a, POOL, 2, (struct net_ip_range){ 0, 63 });
	expect_take(a, "a", 1, 0);
	expect_take(a, "b", 1, 4);
	set_blocks(a, POOL, 4, (struct net_ip_range){ 0, 63 });
	expect_take(a, "b", 1, 16); /* a's reservation is not dropped before it asks again */
	expect_take(a, "a", 1, 0);
	expect_take(a, "b", 1, 16);
	set_range(a, 16, 17);
	expect_take(a, "b", 1, 16);
	expect_take(a, "a", 1, 17);
	/* Now they have addresses of IPv4, and no others. */
	set_pool(a, "six", AF_INET6, (struct net_ip_range){ 16, 16 });
	assert_int_equal(take_from(a, "six", "c"), 16);
}

/* Such a claim counts among those that need a block, so that the oldest is served first. */
static void entered_after_another_size(void **state)
{
	struct ipam_allocator *a = *state;
	set_blocks(a, POOL, 2, (struct net_ip_range){ 0, 15 });
	expect_take(a, "a", 100 - 'a', 0);
	set_blocks(a, POOL, 4, (struct net_ip_range){ 0, 15 });
	open_claims = "ab";
	ipam_allocator_enter_claims(a, NULL, POOL);
	expect_exhausted(a, "a", 100 - 'a');
	expect_take(a, "b", 100 - 'b', 0);
}

/* Prefixes of usual sizes: their numbers of addresses are larger than any integer. */
static void large_blocks(void **state)
{
	struct ipam_allocator *a = *state;
	net_ip_number first = (net_ip_number)0xfd00 << 112, got;
	set_blocks(a, "pool", 64, (struct net_ip_range){ first, first + ipam_block_mask(65) });
	assert_int_equal(ipam_allocator_take(a, NULL, "pool", "a", 1, &got), IPAM_TAKEN);
	assert_true(got == first);
	assert_int_equal(ipam_allocator_take(a, NULL, "pool", "b", 1, &got), IPAM_TAKEN);
	assert_true(got == first + ipam_block_mask(64) + 1);
	assert_int_equal(ipam_allocator_take(a, NULL, "pool", "c", 1, &got), IPAM_EXHAUSTED);
	strbuf_reset(&woken);
	ipam_allocator_forget(a, NULL, "b");
	assert_string_equal(woken.s, "c ");
}

/* Addresses of pools that do not list them any more, are invalid, or are not known count as well. */
static void stray_addresses(void **state)
{
	struct ipam_allocator *a = *state;
	vec_push(&others, (struct object){ "unknown", AF_INET, 10, 0 });
	vec_push(&others, (struct object){ "bad", AF_INET, 11, 0 });
	vec_push(&others, (struct object){ "shrunk", AF_INET, 12, 0 });
	set_pool(a, "one", AF_INET, (struct net_ip_range){ 10, 13 });
	ipam_allocator_set_pool(a, NULL, "bad", "", NULL);
	set_pool(a, "shrunk", AF_INET, (struct net_ip_range){ 40, 49 });
	assert_int_equal(take_from(a, "bad", "x"), -1);
	assert_int_equal(take_from(a, "one", "a"), 13);
	assert_int_equal(take_from(a, "one", "b"), -1);
	for (int i = 0; i < 3; i++) {
		strbuf_reset(&woken);
		remove_other(a, 0);
		assert_string_equal(woken.s, "b ");
	}
	assert_int_equal(take_from(a, "one", "b"), 10);
}

/* Pools of different networks have nothing to do with each other, whenever they become known. */
static void networks(void **state)
{
	struct ipam_allocator *a = *state;
	vec_push(&others, (struct object){ "blue", AF_INET, 10, 0 });
	vec_push(&others, (struct object){ "stock", AF_INET, 11, 0 });
	set_pool(a, "stock", AF_INET, (struct net_ip_range){ 10, 12 });
	set_network_pool(a, "blue", "blue", AF_INET, (struct net_ip_range){ 10, 12 });
	expect_overlaps("");
	assert_false(ipam_allocator_share_network(a, "stock", "blue"));
	assert_int_equal(take_from(a, "stock", "a"), 10);
	assert_int_equal(take_from(a, "blue", "b"), 11);
	/* Another pool of the network, and a pool that moves there with its objects. */
	set_network_pool(a, "navy", "blue", AF_INET, (struct net_ip_range){ 10, 13 });
	expect_overlaps("blue ");
	assert_true(ipam_allocator_share_network(a, "navy", "blue"));
	assert_int_equal(take_from(a, "navy", "c"), 12);
	set_network_pool(a, "stock", "blue", AF_INET, (struct net_ip_range){ 10, 14 });
	assert_int_equal(take_from(a, "stock", "d"), 13);
	assert_int_equal(take_from(a, "navy", "e"), -1);
	/* Two claims have 10 and 11 now: each is free when both are gone. */
	ipam_allocator_forget(a, NULL, "a");
	ipam_allocator_forget(a, NULL, "b");
	assert_int_equal(take_from(a, "navy", "e"), -1);
	remove_other(a, 1);
	assert_int_equal(take_from(a, "navy", "e"), 11);
	ipam_allocator_drop_pool(a, NULL, "blue");
	ipam_allocator_drop_pool(a, NULL, "navy");
	ipam_allocator_drop_pool(a, NULL, "stock");
}

/* Pools of namespaces and of the cluster, two networks, both families. */
static const struct {
	const char *key;
	sa_family_t family;
} shared_pools[] = {
	{ "InClusterIPPool/ns1/pool", AF_INET },   { "InClusterIPPool/ns2/pool", AF_INET },
	{ "GlobalInClusterIPPool//g", AF_INET },   { "InClusterIPPool/ns1/six", AF_INET6 },
	{ "GlobalInClusterIPPool//g6", AF_INET6 },
};
enum { SHARED_POOLS = ARRAY_LEN(shared_pools), SHARED_SPACE = 24 };

/* A claim of pool `claim % SHARED_POOLS`. */
struct shared_model {
	struct model claims;
	const char *network[SHARED_POOLS];
};

static const char *pool_of(size_t claim)
{
	return shared_pools[claim % SHARED_POOLS].key;
}

static bool exclude_each_other(const struct shared_model *m, size_t left, size_t right)
{
	size_t one = left % SHARED_POOLS, other = right % SHARED_POOLS;
	return shared_pools[one].family == shared_pools[other].family &&
	       strcmp(m->network[one], m->network[other]) == 0;
}

static void take_shared(struct ipam_allocator *a, struct shared_model *m, size_t claim)
{
	int *holds = m->claims.holds;
	char name[16];
	net_ip_number number;
	name_of(claim, name);
	if (m->claims.created[claim] || ipam_allocator_take(a, NULL, pool_of(claim), name,
							    (int64_t)claim, &number) != IPAM_TAKEN)
		return;
	/* Networks may have been joined since: what was reserved before stays. */
	if (holds[claim] == (int)number)
		return;
	assert_int_equal(holds[claim], -1);
	holds[claim] = (int)number;
	for (size_t i = 0; i < CLAIMS; i++) {
		if (i != claim && holds[i] == (int)number && exclude_each_other(m, i, claim))
			fail_msg("address %d for claims %zu and %zu", (int)number, i, claim);
	}
}

static void show_object(struct ipam_allocator *a, const struct shared_model *m, size_t claim)
{
	add_other(a, pool_of(claim), shared_pools[claim % SHARED_POOLS].family,
		  m->claims.holds[claim]);
}

static void hide_object(struct ipam_allocator *a, const struct shared_model *m, size_t claim)
{
	for (size_t i = 0; i < others.n; i++) {
		if (strcmp(others.v[i].pool, pool_of(claim)) == 0 &&
		    (int)others.v[i].number == m->claims.holds[claim]) {
			remove_other(a, i);
			return;
		}
	}
	fail_msg("no object of claim %zu", claim);
}

static void edit_pool(struct ipam_allocator *a, struct shared_model *m, size_t pool)
{
	static const char *const names[] = { "", "", "blue" };
	net_ip_number first = next_random(SHARED_SPACE);
	net_ip_number last = first + next_random(SHARED_SPACE - (uint32_t)first);
	m->network[pool] = names[next_random(ARRAY_LEN(names))];
	if (next_random(8) == 0)
		ipam_allocator_set_pool(a, NULL, shared_pools[pool].key, m->network[pool], NULL);
	else
		set_network_pool(a, shared_pools[pool].key, m->network[pool],
				 shared_pools[pool].family, (struct net_ip_range){ first, last });
}

/* The process is killed and starts with what the API has; pools become known one by one, before any claim is
 * served. */
static struct ipam_allocator *restart_shared(struct ipam_allocator *a, struct shared_model *m)
{
	ipam_allocator_free(a);
	a = ipam_allocator_new(&used);
	others.n = 0;
	for (size_t i = 0; i < CLAIMS; i++) {
		m->claims.shown[i] = m->claims.created[i];
		if (m->claims.created[i])
			show_object(a, m, i);
		else
			m->claims.holds[i] = -1;
	}
	for (size_t i = 0; i < SHARED_POOLS; i++)
		edit_pool(a, m, i);
	return a;
}

static void forget_claim(struct ipam_allocator *a, struct shared_model *m, size_t claim)
{
	char name[16];
	name_of(claim, name);
	if (m->claims.shown[claim])
		hide_object(a, m, claim);
	ipam_allocator_forget(a, NULL, name);
	m->claims.holds[claim] = -1;
	m->claims.created[claim] = m->claims.shown[claim] = false;
}

static struct ipam_allocator *step_shared(struct ipam_allocator *a, struct shared_model *m)
{
	size_t claim = next_random(CLAIMS);
	struct model *claims = &m->claims;
	char name[16];
	name_of(claim, name);
	switch (next_random(8)) {
	case 0:
	case 1:
	case 2:
		take_shared(a, m, claim);
		break;
	case 3: /* the create succeeded */
		claims->created[claim] |= claims->holds[claim] >= 0;
		break;
	case 4: /* the watch shows it; the claim is bound */
		if (claims->created[claim] && !claims->shown[claim]) {
			claims->shown[claim] = true;
			show_object(a, m, claim);
			ipam_allocator_forget(a, NULL, name);
		}
		break;
	case 5:
		if (claims->shown[claim] || !claims->created[claim])
			forget_claim(a, m, claim);
		break;
	case 6:
		if (next_random(4) == 0)
			edit_pool(a, m, claim % SHARED_POOLS);
		break;
	default:
		if (next_random(40) == 0)
			return restart_shared(a, m);
	}
	return a;
}

/* PR-5: no address for two claims of a network, whichever pools they name, over edits of pools and networks. */
static void never_twice_in_a_network(void **state)
{
	struct ipam_allocator *a = *state;
	struct shared_model m;
	unsigned taken = 0;
	for (uint32_t round = 1; round <= 100; round++) {
		memset(&m, 0, sizeof(m));
		for (size_t i = 0; i < CLAIMS; i++)
			m.claims.holds[i] = -1;
		seed = round * 2246822519U;
		a = restart_shared(a, &m);
		for (int i = 0; i < 2000; i++)
			a = step_shared(a, &m);
		for (size_t i = 0; i < CLAIMS; i++)
			taken += m.claims.created[i];
		strbuf_reset(&woken);
		strbuf_reset(&overlapping);
	}
	assert_true(taken > 500);
	*state = a;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lowest_free, start, stop),
		cmocka_unit_test_setup_teardown(waiting_in_order, start, stop),
		cmocka_unit_test_setup_teardown(entered_in_order, start, stop),
		cmocka_unit_test_setup_teardown(enough_for_all, start, stop),
		cmocka_unit_test_setup_teardown(made_anew, start, stop),
		cmocka_unit_test_setup_teardown(made_anew_elsewhere, start, stop),
		cmocka_unit_test_setup_teardown(left_behind, start, stop),
		cmocka_unit_test_setup_teardown(entered_elsewhere, start, stop),
		cmocka_unit_test_setup_teardown(pool_edits, start, stop),
		cmocka_unit_test_setup_teardown(overlaps, start, stop),
		cmocka_unit_test_setup_teardown(listed_overlaps, start, stop),
		cmocka_unit_test_setup_teardown(work_of_many_overlaps, start, stop),
		cmocka_unit_test_setup_teardown(never_twice, start, stop),
		cmocka_unit_test_setup_teardown(shared_addresses, start, stop),
		cmocka_unit_test_setup_teardown(blocks_of_several_sizes, start, stop),
		cmocka_unit_test_setup_teardown(pool_of_another_size, start, stop),
		cmocka_unit_test_setup_teardown(entered_after_another_size, start, stop),
		cmocka_unit_test_setup_teardown(large_blocks, start, stop),
		cmocka_unit_test_setup_teardown(stray_addresses, start, stop),
		cmocka_unit_test_setup_teardown(networks, start, stop),
		cmocka_unit_test_setup_teardown(never_twice_in_a_network, start, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
