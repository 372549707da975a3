/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Known pairs: what is held, forgotten and swept; and readers beside all of that. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "addrset/shared/known_pairs.h"

static struct addrset_pair pair_of(const char *name, unsigned number, uint64_t until_ns)
{
	return (struct addrset_pair){
		.name = addrset_id_of(slice_of(name)),
		.address = { 4, { 192, 0, (uint8_t)(number >> 8), (uint8_t)number } },
		.until_ns = until_ns
	};
}

static struct addrset_known *get(struct addrset_known_table *table, const struct addrset_pair *pair)
{
	return addrset_known_get(table, &pair->name, &pair->address);
}

static void held_until_its_time(void **state UNUSED)
{
	struct addrset_known_table table;
	struct addrset_pair pair = pair_of("example.com", 1, 100);
	addrset_known_init(&table);
	struct addrset_known *known = get(&table, &pair);
	assert_false(addrset_known_holds(&table, &pair));
	addrset_known_set(known, 100);
	assert_true(addrset_known_holds(&table, &pair));
	assert_ptr_equal(get(&table, &pair), known);
	pair.until_ns = 101;
	assert_false(addrset_known_holds(&table, &pair));
	struct addrset_pair other = pair_of("example.net", 1, 100);
	assert_false(addrset_known_holds(&table, &other));
	addrset_known_done(&table);
}

/* One that was forgotten is held again only when it was set again. */
static void forgotten_at_once(void **state UNUSED)
{
	struct addrset_known_table table;
	struct addrset_pair pair = pair_of("example.com", 1, 100);
	addrset_known_init(&table);
	addrset_known_set(get(&table, &pair), 100);
	addrset_known_forget_all(&table);
	assert_false(addrset_known_holds(&table, &pair));
	struct addrset_known *known = get(&table, &pair);
	assert_false(addrset_known_holds(&table, &pair));
	assert_int_equal(known->wanted_ns, 0);
	addrset_known_set(known, 100);
	assert_true(addrset_known_holds(&table, &pair));
	addrset_known_done(&table);
}

/* What is over or forgotten goes; what is queued stays. */
static void swept(void **state UNUSED)
{
	struct addrset_known_table table;
	enum { PAIRS = 20000 };
	addrset_known_init(&table);
	for (unsigned i = 0; i < PAIRS; i++) {
		struct addrset_pair pair = pair_of("example.com", i, 100);
		struct addrset_known *known = get(&table, &pair);
		addrset_known_set(known, i % 2 == 0 ? 100 : 200);
		known->is_queued = i < 2;
	}
	for (int i = 0; i < 10; i++)
		addrset_known_sweep(&table, 150);
	assert_int_equal(table.pairs.n, PAIRS / 2 + 1);
	addrset_known_forget_all(&table);
	for (int i = 0; i < 10; i++)
		addrset_known_sweep(&table, 150);
	assert_int_equal(table.pairs.n, 2);
	rcu_barrier_all();
	addrset_known_done(&table);
}

struct reading {
	struct addrset_known_table *table;
	_Atomic bool ends;
	_Atomic uint64_t moment; /* the writer's: odd while the pair may be held */
	uint64_t wrong;
};

/* A reader must not find a pair held between the moment it was forgotten and the next time it is set. */
static void *read_pairs(void *arg)
{
	struct reading *reading = arg;
	struct addrset_pair pair = pair_of("example.com", 1, 1);
	rcu_thread_register();
	while (!atomic_load(&reading->ends)) {
		rcu_enter();
		uint64_t before = atomic_load(&reading->moment);
		bool holds = addrset_known_holds(reading->table, &pair);
		uint64_t after = atomic_load(&reading->moment);
		rcu_leave();
		reading->wrong += before == after && before % 2 == 0 && holds;
	}
	rcu_thread_unregister();
	return NULL;
}

static void readers_see_no_old_time(void **state UNUSED)
{
	struct addrset_known_table table;
	struct reading reading = { .table = &table };
	struct addrset_pair pair = pair_of("example.com", 1, 0);
	pthread_t thread;
	addrset_known_init(&table);
	assert_int_equal(pthread_create(&thread, NULL, read_pairs, &reading), 0);
	for (uint64_t turn = 1; turn <= 20000; turn++) {
		struct addrset_known *known = get(&table, &pair);
		atomic_fetch_add(&reading.moment, 1);
		addrset_known_set(known, turn);
		addrset_known_forget_all(&table);
		atomic_fetch_add(&reading.moment, 1);
		if (turn % 64 == 0)
			addrset_known_sweep(&table, turn);
	}
	atomic_store(&reading.ends, true);
	pthread_join(thread, NULL);
	assert_int_equal(reading.wrong, 0);
	rcu_barrier_all();
	addrset_known_done(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(held_until_its_time),
		cmocka_unit_test(forgotten_at_once),
		cmocka_unit_test(swept),
		cmocka_unit_test(readers_see_no_old_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
