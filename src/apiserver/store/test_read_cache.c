/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows that were read lately are the newest ones or are not used. */
#include "apiserver/store/read_cache_priv.h"
#include "apiserver/store/test_store.h"

#include "apiserver/store/ring_priv.h"

/* What the ring has evicted decides whether a row still counts. */
static void counts_while_the_ring_would_know(void **state)
{
	struct store_read_cache cache;
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	uint64_t revision = 0;
	(void)state;
	store_read_cache_init(&cache);
	assert_false(store_read_cache_get(&cache, "a", 0, &out, &revision));
	store_read_cache_put(&cache, "a", SLICE("one"), 7, 10);
	assert_true(store_read_cache_get(&cache, "a", 10, &out, &revision));
	assert_string_equal(out.s, "one");
	assert_int_equal(revision, 7);
	assert_false(store_read_cache_get(&cache, "a", 11, &out, &revision));
	assert_false(store_read_cache_get(&cache, "b", 0, &out, &revision));
	store_read_cache_done(&cache);
}

static void long_values_are_left_out(void **state)
{
	static char text[STORE_READ_CACHE_VALUE_MAX_BYTES + 1];
	struct store_read_cache cache;
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	uint64_t revision;
	(void)state;
	store_read_cache_init(&cache);
	store_read_cache_put(&cache, "a", (struct slice){ text, sizeof(text) }, 1, 1);
	assert_false(store_read_cache_get(&cache, "a", 0, &out, &revision));
	store_read_cache_put(&cache, "a", (struct slice){ text, sizeof(text) - 1 }, 1, 1);
	assert_true(store_read_cache_get(&cache, "a", 0, &out, &revision));
	store_read_cache_done(&cache);
}

static void put_value(struct fixture *fixture, const char *key, uint64_t expect, const char *value,
		      uint64_t *ret)
{
	struct apiserver_write write = {
		.key = key, .expect = expect, .head = slice_of(value), .tail = SLICE("")
	};
	assert_int_equal(apiserver_store_write(fixture->s, &write, 1, ret, NULL), 0);
}

/* More changes than the ring holds. */
static void fill_ring(struct fixture *fixture)
{
	enum { BATCH = 512 };
	static struct apiserver_write writes[BATCH];
	static char keys[BATCH][32];
	static unsigned n;
	for (unsigned done = 0; done <= STORE_RING_EVENTS; done += BATCH) {
		uint64_t revision;
		for (unsigned i = 0; i < BATCH; i++) {
			snprintf(keys[i], sizeof(keys[i]), "core/other/%u", n++);
			writes[i] = (struct apiserver_write){ .key = keys[i],
							      .head = SLICE("x"),
							      .tail = SLICE("") };
		}
		assert_int_equal(apiserver_store_write(fixture->s, writes, BATCH, &revision, NULL),
				 0);
	}
}

static void check_value(struct fixture *fixture, const char *begin, uint64_t revision)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	uint64_t is;
	assert_int_equal(apiserver_store_get(fixture->s, "core/one", &out, &is), 0);
	assert_memory_equal(out.s, begin, strlen(begin));
	assert_int_equal(is, revision);
}

/* A row is read when the ring has forgotten it, read again, changed, and forgotten again. */
static void follows_changes(void **state)
{
	struct fixture *fixture = *state;
	uint64_t revision;
	put_value(fixture, "core/one", 0, "first", &revision);
	fill_ring(fixture);
	for (int i = 0; i < 3; i++)
		check_value(fixture, "first", revision);
	put_value(fixture, "core/one", revision, "second", &revision);
	check_value(fixture, "second", revision);
	fill_ring(fixture);
	for (int i = 0; i < 3; i++)
		check_value(fixture, "second", revision);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_while_the_ring_would_know),
		cmocka_unit_test(long_values_are_left_out),
		cmocka_unit_test_setup_teardown(follows_changes, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
