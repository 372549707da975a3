/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The store: look-up, replacing, limits in entries and bytes, order of eviction, threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>

#include "base/clock.h"
#include "base/rcu/rcu.h"
#include "plugin/cache/store_priv.h"
#include "plugin/cache/store_test.h"

struct names {
	uint8_t name[DNS_NAME_MAX + 8];
	uint8_t msg[512];
	size_t msg_len;
	struct store_key k;
};

/* A message of `records` A records, all with the number as address. */
static void make(struct names *n, const struct store *s, uint32_t number, unsigned records)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "n%u.example", number);
	memset(n, 0, sizeof(*n));
	n->k.name_len = (uint8_t)dns_name_from_text((struct slice){ text, (size_t)len }, n->name);
	n->k.name = n->name;
	n->k.qtype = DNS_TYPE_A;
	n->k.qclass = DNS_CLASS_IN;
	n->k.hash = store_hash(s, &n->k);
	dns_put16(n->msg + 4, 1);
	dns_put16(n->msg + 6, (uint16_t)records);
	uint8_t *p = n->msg + DNS_HEADER_BYTES;
	memcpy(p, n->name, n->k.name_len);
	p += n->k.name_len;
	dns_put16(p, DNS_TYPE_A);
	dns_put16(p + 2, DNS_CLASS_IN);
	p += 4;
	for (unsigned i = 0; i < records; i++, p += 16) {
		memcpy(p, "\300\14\0\1\0\1\0\0\0\74\0\4", 12);
		dns_put32(p + 12, number);
	}
	n->msg_len = (size_t)(p - n->msg);
}

static enum store_result put(struct store *s, struct names *n, enum store_kind kind,
			     uint64_t now_ns)
{
	return store_put(s, &n->k,
			 &(struct store_value){ .kind = kind,
						.now_ns = now_ns,
						.ttl_s = 60,
						.msg = n->msg,
						.msg_len = n->msg_len,
						.epoch = store_epoch(s) });
}

/* Also when all blocks wait for readers, or the thread that gives them back has the shard. */
static enum store_result put_surely(struct store *s, struct names *n, uint64_t now_ns)
{
	enum store_result r;
	while ((r = put(s, n, STORE_SUCCESS, now_ns)) == STORE_BUSY)
		rcu_barrier_all();
	return r;
}

static NOINLINE struct store_entry *get(struct store *s, uint32_t number, enum store_kind kind)
{
	struct names n;
	struct store_entry *e[STORE_KINDS];
	make(&n, s, number, 0);
	store_get(s, &n.k, e);
	return e[kind];
}

static struct store *small_store(size_t bytes)
{
	return store_new(&(struct store_conf){ .capacity = { 1, 1 }, .bytes = bytes });
}

/* Messages of every length come back as they went in, with the TTLs of all records. */
static void messages_of_all_lengths(void **state)
{
	(void)state;
	struct store *s = small_store(1 << 26);
	uint8_t *msg = malloc(STORE_BUFFER), *out = malloc(STORE_BUFFER),
		*want = malloc(STORE_BUFFER);
	struct names n;
	make(&n, s, 7, 0);
	for (unsigned records = 0; records < 600; records += records < 40 ? 1 : 37) {
		size_t len = n.msg_len;
		memcpy(msg, n.msg, len);
		dns_put16(msg + 6, (uint16_t)records);
		for (unsigned i = 0; i < records; i++) {
			size_t data = (i * 7) % 90;
			memcpy(msg + len, "\300\14\0\20\0\1\0\0\0\74\0", 11);
			msg[len + 11] = (uint8_t)data;
			memset(msg + len + 12, (int)i, data);
			len += 12 + data;
		}
		memcpy(want, msg, len);
		struct store_value v = { .msg = msg, .msg_len = len, .epoch = store_epoch(s) };
		/* On a busy machine those before it are in limbo for long. */
		enum store_result r = store_put(s, &n.k, &v);
		for (unsigned tries = 0; r == STORE_BUSY && tries < 100; tries++) {
			rcu_barrier_all();
			r = store_put(s, &n.k, &v);
		}
		assert_true(r <= STORE_KEPT_EVICTED);
		rcu_enter();
		const struct store_entry *e = get(s, 7, STORE_SUCCESS);
		assert_int_equal(e->n_ttl, records);
		store_copy(e, 60, out);
		assert_memory_equal(out, want, len);
		store_copy(e, 61, out);
		rcu_leave();
		unsigned changed = 0;
		for (size_t i = 0; i < len; i++)
			changed += out[i] != want[i];
		assert_int_equal(changed, records);
	}
	/* Records that are not there. */
	dns_put16(msg + 6, 900);
	struct store_value v = { .msg = msg, .msg_len = 600, .epoch = store_epoch(s) };
	assert_int_equal(store_put(s, &n.k, &v), STORE_REFUSED);
	free(msg);
	free(out);
	free(want);
	store_free(s);
}

/* What was put can be given: copying out takes no more room than a message has, whatever the number
 * of records, and a reply of that size can always be made. */
static void copies_into_a_message(void **state)
{
	(void)state;
	struct store *s = small_store(1 << 26);
	uint8_t *msg = malloc(STORE_BUFFER);
	struct names n;
	make(&n, s, 7, 0);
	for (unsigned row = 0; row < 4 * 52; row++) {
		size_t len = n.msg_len;
		unsigned data = row % 4 * 5,
			 records = row / 4 < 40 ? row / 4 : (row / 4 - 39) * 401;
		memcpy(msg, n.msg, len);
		for (unsigned i = 0; i < records && len + 12 + data <= STORE_MESSAGE_MAX; i++) {
			memcpy(msg + len, "\300\14\0\20\0\1\0\0\0\74\0", 11);
			msg[len + 11] = (uint8_t)data;
			memset(msg + len + 12, 0, data);
			len += 12 + data;
			dns_put16(msg + 6, (uint16_t)(i + 1));
		}
		struct store_value v = { .msg = msg, .msg_len = len, .epoch = store_epoch(s) };
		while (store_put(s, &n.k, &v) == STORE_BUSY)
			rcu_barrier_all();
		rcu_enter();
		const struct store_entry *e = get(s, 7, STORE_SUCCESS);
		size_t room = store_copy_room(e);
		if (room > MAX(len, (size_t)STORE_FIRST))
			fail_msg("%zu bytes for a message of %zu", room, len);
		uint8_t *out = malloc(room); /* a sanitizer watches its end */
		store_copy(e, 61, out);
		rcu_leave();
		for (size_t at = n.msg_len; at < len; at += 12 + data)
			assert_int_equal(dns_get32(out + at + 6), 61);
		assert_memory_equal(out, msg, n.msg_len);
		free(out);
	}
	free(msg);
	store_free(s);
}

/* A name may be longer than a cell. */
static void long_names(void **state)
{
	(void)state;
	struct store *s = small_store(1 << 24);
	uint8_t msg[1024] = { 0 }, name[DNS_NAME_MAX + 8] = { 0 };
	dns_put16(msg + 4, 1);
	for (unsigned at = 1; at < 252; at += 10) {
		uint8_t len = (uint8_t)(253 + at / 10 % 3);
		struct store_key k = { .name = name, .name_len = len, .qtype = 1, .qclass = 1 };
		memset(name, 0, sizeof(name));
		for (int i = 0; i < 4; i++) {
			name[i * 63] = (uint8_t)(i < 3 ? 62 : 62 + len - 253);
			memset(name + i * 63 + 1, 'a' + i, name[i * 63]);
		}
		struct store_entry *e[STORE_KINDS];
		k.hash = store_hash(s, &k);
		memcpy(msg + DNS_HEADER_BYTES, name, len);
		struct store_value v = { .msg = msg,
					 .msg_len = DNS_HEADER_BYTES + len + 4U,
					 .epoch = store_epoch(s) };
		assert_int_equal(store_put(s, &k, &v), STORE_KEPT);
		rcu_enter();
		assert_true(store_get(s, &k, e));
		name[at]++; /* the hash stays: only the name tells them apart */
		assert_false(store_get(s, &k, e));
		rcu_leave();
	}
	store_free(s);
}

static void keeps_what_was_put(void **state)
{
	(void)state;
	struct store *s = small_store(1 << 24);
	struct names n;
	rcu_enter();
	make(&n, s, 7, 3);
	assert_int_equal(put(s, &n, STORE_SUCCESS, 5 * NS_PER_S), STORE_KEPT);
	struct store_entry *e = get(s, 7, STORE_SUCCESS);
	assert_non_null(e);
	assert_null(get(s, 7, STORE_DENIAL));
	assert_null(get(s, 8, STORE_SUCCESS));
	assert_int_equal(e->n_ttl, 3);
	assert_int_equal(store_ttl(e, 5 * NS_PER_S), 60);
	assert_int_equal(store_ttl(e, 66 * NS_PER_S), -1);
	/* The two kinds of one key stand side by side. */
	assert_int_equal(put(s, &n, STORE_DENIAL, 0), STORE_KEPT);
	assert_ptr_equal(get(s, 7, STORE_SUCCESS), e);
	assert_non_null(get(s, 7, STORE_DENIAL));
	assert_int_equal(store_count(s, STORE_HALF_SUCCESS), 1);
	assert_int_equal(store_count(s, STORE_HALF_DENIAL), 1);
	/* A new one takes the old one's place; what a reader has stays as it was. */
	uint32_t serial = e->serial;
	make(&n, s, 7, 1);
	assert_int_equal(put(s, &n, STORE_SUCCESS, 0), STORE_KEPT);
	assert_int_equal(e->n_ttl, 3);
	assert_int_not_equal(get(s, 7, STORE_SUCCESS)->serial, serial);
	assert_int_equal(store_count(s, STORE_HALF_SUCCESS), 1);
	assert_true(store_drop(s, &n.k, STORE_SUCCESS));
	assert_null(get(s, 7, STORE_SUCCESS));
	assert_int_equal(store_count(s, STORE_HALF_SUCCESS), 0);
	rcu_leave();
	store_free(s);
}

static void key_has_all_parts(void **state)
{
	(void)state;
	struct store *s = small_store(1 << 24);
	struct names n;
	struct store_entry *e[STORE_KINDS];
	make(&n, s, 7, 1);
	rcu_enter();
	put(s, &n, STORE_SUCCESS, 0);
	struct store_key rows[4];
	for (int i = 0; i < 4; i++) {
		rows[i] = n.k;
		rows[i].qtype = i == 0 ? DNS_TYPE_AAAA : DNS_TYPE_A;
		rows[i].qclass = i == 1 ? 3 : 1;
		rows[i].bits = i == 2 ? STORE_DO : i == 3 ? STORE_CD : 0;
		uint64_t hash = store_hash(s, &rows[i]);
		assert_int_not_equal(hash, n.k.hash);
		/* Also if the hash were the same. */
		assert_false(store_get(s, &rows[i], e));
		rows[i].hash = hash;
		assert_false(store_get(s, &rows[i], e));
	}
	rcu_leave();
	store_free(s);
}

/* 1.4 capacity: bounded for each half, at least 1024. */
static void bounded_in_entries(void **state)
{
	(void)state;
	struct store *s = small_store(1 << 26);
	unsigned evicted = 0;
	for (uint32_t i = 0; i < 10000; i++) {
		struct names n;
		make(&n, s, i, 1);
		evicted += put_surely(s, &n, 0) == STORE_KEPT_EVICTED;
		assert_true(store_count(s, STORE_HALF_SUCCESS) <= 1024);
	}
	assert_true(store_count(s, STORE_HALF_SUCCESS) > 950);
	assert_true(evicted >= 10000 - 1024 - 100);
	assert_int_equal(store_count(s, STORE_HALF_DENIAL), 0);
	store_free(s);
}

static void bounded_in_bytes(void **state)
{
	(void)state;
	enum { BYTES = 1 << 20 };
	struct store *s =
		store_new(&(struct store_conf){ .capacity = { 1000000, 1000000 }, .bytes = BYTES });
	unsigned kept = 0;
	for (uint32_t i = 0; i < 12000; i++) {
		struct names n;
		make(&n, s, i, i < 6000 ? 1 : 1 + i % 20); /* sizes change half-way */
		enum store_result r = put(s, &n, i % 3 ? STORE_SUCCESS : STORE_DENIAL, 0);
		kept += r == STORE_KEPT || r == STORE_KEPT_EVICTED;
		assert_true(store_bytes(s) <= BYTES);
		if (i % 128 == 0)
			rcu_barrier_all(); /* blocks come back, as they do while time passes */
	}
	assert_true(kept > 9000);
	/* One that would push out everything else is not taken. */
	struct names n;
	make(&n, s, 5, 1);
	struct store_value v = { .msg = n.msg, .msg_len = n.msg_len, .epoch = store_epoch(s) };
	uint8_t *large = calloc(1, STORE_BUFFER);
	memcpy(large, n.msg, n.msg_len);
	v.msg = large;
	v.msg_len = 65535;
	assert_int_equal(store_put(s, &n.k, &v), STORE_REFUSED);
	free(large);
	store_free(s);
}

/* Names that are asked for again and again survive a flood of names asked for once. */
static void popular_names_stay(void **state)
{
	(void)state;
	struct store *s = small_store(1 << 24);
	struct names n;
	for (uint32_t i = 0; i < 200; i++) {
		make(&n, s, i, 1);
		put(s, &n, STORE_SUCCESS, 0);
	}
	for (uint32_t i = 1000; i < 41000; i++) {
		make(&n, s, i, 1);
		put(s, &n, STORE_SUCCESS, 0);
		rcu_enter();
		struct store_entry *e = get(s, i % 200, STORE_SUCCESS);
		if (e != NULL)
			e->visited = 1;
		rcu_leave();
	}
	unsigned left = 0;
	rcu_enter();
	for (uint32_t i = 0; i < 200; i++)
		left += get(s, i, STORE_SUCCESS) != NULL;
	rcu_leave();
	/* Chance eviction would leave none of them. */
	assert_in_range(left, 150, 200);
	store_free(s);
}

static void expired_ones_go_first(void **state)
{
	(void)state;
	struct store *s = small_store(1 << 24);
	struct names n;
	for (uint32_t i = 0; i < 3000; i++) {
		make(&n, s, i, 1);
		put_surely(s, &n, i < 500 ? 0 : 100 * NS_PER_S);
		rcu_enter();
		get(s, i, STORE_SUCCESS)->visited = 1;
		rcu_leave();
	}
	rcu_enter();
	for (uint32_t i = 0; i < 500; i++)
		assert_null(get(s, i, STORE_SUCCESS));
	rcu_leave();
	store_free(s);
}

static bool is_below(const void *zone, const uint8_t *name)
{
	return dns_name_is_below(name, zone);
}

static void zones_are_flushed(void **state)
{
	(void)state;
	struct store *s = small_store(1 << 24);
	struct names n;
	uint8_t zone[DNS_NAME_MAX];
	uint32_t epoch = store_epoch(s);
	for (uint32_t i = 0; i < 20; i++) {
		make(&n, s, i, 1);
		put(s, &n, STORE_SUCCESS, 0);
	}
	assert_true(dns_name_from_text(SLICE("other.example"), zone) > 0);
	store_flush(s, is_below, zone);
	assert_int_equal(store_count(s, STORE_HALF_SUCCESS), 20);
	assert_true(dns_name_from_text(SLICE("n7.example"), zone) > 0);
	store_flush(s, is_below, zone);
	assert_int_equal(store_count(s, STORE_HALF_SUCCESS), 19);
	/* An answer of the configuration before must not come back. */
	make(&n, s, 7, 1);
	struct store_value v = { .msg = n.msg, .msg_len = n.msg_len, .epoch = epoch };
	assert_int_equal(store_put(s, &n.k, &v), STORE_REFUSED);
	assert_int_equal(put(s, &n, STORE_SUCCESS, 0), STORE_KEPT);
	store_free(s);
}

/* ---- threads: readers, writers, a flusher; sanitizers watch ---- */

enum { THREADS = 4, ROUNDS = 30000, NAMES = 4000 };

static void *hammer(void *arg)
{
	struct store *s = arg;
	static _Atomic uint32_t counter;
	uint32_t x = 12345U + 77U * atomic_fetch_add(&counter, 1);
	rcu_thread_register();
	for (int i = 0; i < ROUNDS; i++) {
		struct names n;
		struct store_entry *e[STORE_KINDS];
		x = x * 1664525U + 1013904223U;
		uint32_t number = (x >> 8) % NAMES;
		make(&n, s, number, 1 + x % 3);
		rcu_enter();
		store_cpu_prefetch_bucket(s, n.k.hash);
		store_cpu_prefetch_entry(s, n.k.hash);
		if (store_get(s, &n.k, e) && e[STORE_SUCCESS] != NULL) {
			const struct store_entry *f = e[STORE_SUCCESS];
			uint8_t out[STORE_CELL + 64];
			store_copy(f, 9, out);
			assert_memory_equal(out + DNS_HEADER_BYTES, n.name, n.k.name_len);
			for (unsigned k = 0; k < f->n_ttl; k++) {
				const uint8_t *rr =
					out + DNS_HEADER_BYTES + n.k.name_len + 4 + (size_t)k * 16;
				assert_int_equal(dns_get32(rr + 6), 9);
				assert_int_equal(dns_get32(rr + 12), number);
			}
			e[STORE_SUCCESS]->visited = 1;
		} else {
			put(s, &n, STORE_SUCCESS, 0);
		}
		if (x % 1024 == 0)
			store_drop(s, &n.k, STORE_SUCCESS);
		rcu_leave();
		if (x % 8192 == 1)
			store_flush(s, is_below, n.name);
	}
	rcu_thread_unregister();
	return NULL;
}

static void threads_share_it(void **state)
{
	(void)state;
	struct store *s = small_store(1 << 20);
	pthread_t t[THREADS];
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, hammer, s), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	assert_true(store_count(s, STORE_HALF_SUCCESS) <= 1024);
	assert_true(store_bytes(s) <= 1 << 20);
	store_free(s);
}

/* 9 "Numbers to hold": at a million names an entry takes at most 250 bytes beside its message. */
static void memory_of_a_million(void **state)
{
	(void)state;
	enum { MILLION = 1000000 };
	struct store *s = store_new(
		&(struct store_conf){ .capacity = { MILLION, 1024 }, .bytes = (size_t)1 << 30 });
	size_t wire = 0;
	for (uint32_t i = 0; i < MILLION; i++) {
		struct names n;
		make(&n, s, i, 2);
		wire += n.msg_len;
		put(s, &n, STORE_SUCCESS, 0);
	}
	size_t n = store_count(s, STORE_HALF_SUCCESS);
	double each = (double)(store_bytes(s) + store_table_bytes(s)) / (double)n -
		      (double)wire / MILLION;
	print_message("%zu entries, %.0f bytes each beside the message\n", n, each);
	assert_true(n > MILLION - MILLION / 50);
	assert_true(each <= 250);
	store_free(s);
}

static int enter(void **state)
{
	(void)state;
	rcu_thread_register();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_of_all_lengths),
		cmocka_unit_test(copies_into_a_message),
		cmocka_unit_test(long_names),
		cmocka_unit_test(keeps_what_was_put),
		cmocka_unit_test(key_has_all_parts),
		cmocka_unit_test(bounded_in_entries),
		cmocka_unit_test(bounded_in_bytes),
		cmocka_unit_test(popular_names_stay),
		cmocka_unit_test(expired_ones_go_first),
		cmocka_unit_test(zones_are_flushed),
		cmocka_unit_test(threads_share_it),
		cmocka_unit_test(memory_of_a_million),
	};
	return cmocka_run_group_tests_name("store", tests, enter, NULL);
}
