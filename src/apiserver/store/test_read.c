/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Get and list: order, prefixes, pages, old revisions, and writes during a list. */
#include "apiserver/store/read.h"
#include "apiserver/store/test_store.h"

static void order_and_prefix(void **state)
{
	struct fixture *f = *state;
	assert_list(f->s, (struct apiserver_range){ .prefix = "" }, "", 0);
	put(f->s, "core/pods/b/x", 0, "1");
	put(f->s, "core/pods/a/z", 0, "2");
	uint64_t y = put(f->s, "core/pods/a/y", 0, "3");
	put(f->s, "core/podsx/a/y", 0, "4");
	put(f->s, "apps/pods/a/y", 0, "5");
	put(f->s, "core/pods/a/y", y, "6");
	assert_list(f->s, (struct apiserver_range){ .prefix = "core/pods/" },
		    "core/pods/a/y core/pods/a/z core/pods/b/x ", 0);
	assert_list(f->s, (struct apiserver_range){ .prefix = "core/pods/a/" },
		    "core/pods/a/y core/pods/a/z ", 0);
	assert_list(f->s, (struct apiserver_range){ .prefix = "core/pods/a/z" }, "core/pods/a/z ",
		    0);
	assert_list(f->s, (struct apiserver_range){ .prefix = "" },
		    "apps/pods/a/y core/pods/a/y core/pods/a/z core/pods/b/x core/podsx/a/y ", 0);
	assert_list(f->s, (struct apiserver_range){ .prefix = "core/nodes/" }, "", 0);
}

static void pages(void **state)
{
	struct fixture *f = *state;
	char key[8];
	for (int i = 0; i < 10; i++) {
		snprintf(key, sizeof(key), "p/%d", i);
		uint64_t at = put(f->s, key, 0, "x");
		if (i % 3 == 1)
			del(f->s, key, at); /* 1 4 7 */
		else if (i == 5)
			put(f->s, key, at, "y");
	}
	put(f->s, "p/4", 0, "back");
	struct apiserver_range r = { .prefix = "p/", .limit = 3 };
	assert_list(f->s, r, "p/0 p/2 p/3 ", 5);
	r.after = "p/3";
	assert_list(f->s, r, "p/4 p/5 p/6 ", 2);
	r.after = "p/6";
	assert_list(f->s, r, "p/8 p/9 ", 0);
	/* `after` may be a key that was removed or never existed. */
	r.after = "p/7";
	assert_list(f->s, r, "p/8 p/9 ", 0);
	r.after = "p/30";
	assert_list(f->s, r, "p/4 p/5 p/6 ", 2);
	r.after = "a";
	assert_list(f->s, r, "p/0 p/2 p/3 ", 5);
	r.after = "z";
	assert_list(f->s, r, "", 0);
}

static void older_views(void **state)
{
	struct fixture *f = *state;
	uint64_t a = put(f->s, "a", 0, "1");
	uint64_t b = put(f->s, "b", 0, "1");
	uint64_t c = put(f->s, "c", 0, "1");
	uint64_t a2 = put(f->s, "a", a, "2");
	uint64_t gone = del(f->s, "b", b);
	uint64_t again = put(f->s, "b", 0, "3");
	struct apiserver_range r = { .prefix = "", .at = a };
	assert_list(f->s, r, "a ", 0);
	r.limit = 1;
	r.at = c;
	assert_list(f->s, r, "a ", 2);
	r.at = a2;
	assert_list(f->s, r, "a ", 2);
	r.at = gone;
	assert_list(f->s, r, "a ", 1);
	r.at = again;
	assert_list(f->s, r, "a ", 2);
	r.at = again + 1;
	uint64_t at;
	struct strbuf out = STRBUF_INIT;
	assert_int_equal(apiserver_store_list(f->s, &r, add_key, &out, &at, NULL), ERR_RANGE);
	strbuf_done(&out);
}

static int check_old(void *ctx, const struct apiserver_row *r)
{
	const uint64_t *want = ctx;
	assert_int_equal(r->revision, want[0]);
	assert_int_equal(r->created, want[1]);
	assert_value(r->value, "2", want[0]);
	return 0;
}

static void rows_of_a_view(void **state)
{
	struct fixture *f = *state;
	uint64_t first = put(f->s, "a", 0, "1"), second = put(f->s, "a", first, "2"), at;
	put(f->s, "a", second, "3");
	uint64_t want[] = { second, first };
	struct apiserver_range r = { .prefix = "a", .at = second };
	assert_int_equal(apiserver_store_list(f->s, &r, check_old, want, &at, NULL), 0);
	assert_int_equal(at, second);
}

static int stop(void *ctx, const struct apiserver_row *r)
{
	(void)r;
	return *(int *)ctx;
}

static void callee_stops(void **state)
{
	struct fixture *f = *state;
	put(f->s, "a", 0, "1");
	put(f->s, "b", 0, "1");
	struct apiserver_range r = { .prefix = "" };
	uint64_t at, left;
	int code = 1;
	assert_int_equal(apiserver_store_list(f->s, &r, stop, &code, &at, &left), 0);
	assert_int_equal(left, 1);
	code = ERR_TYPE;
	assert_int_equal(apiserver_store_list(f->s, &r, stop, &code, &at, &left), ERR_TYPE);
}

/* Writes during a list are not part of it, and do not wait for it. */
static int write_meanwhile(void *ctx, const struct apiserver_row *r)
{
	struct fixture *f = ctx;
	char key[16];
	snprintf(key, sizeof(key), "%.4s/more", r->key);
	put(f->s, key, 0, "x");
	assert_there(f->s, r->key, "1", r->revision);
	return strstr(r->key, "more") != NULL ? ERR_INTERNAL : 0;
}

static void one_view(void **state)
{
	struct fixture *f = *state;
	put(f->s, "a", 0, "1");
	uint64_t before = put(f->s, "b", 0, "1"), at;
	struct apiserver_range r = { .prefix = "" };
	assert_int_equal(apiserver_store_list(f->s, &r, write_meanwhile, f, &at, NULL), 0);
	assert_int_equal(at, before);
	assert_list(f->s, r, "a a/more b b/more ", 0);
}

/* Larger than all that the ring keeps. */
static void flush_ring(struct apiserver_store *store)
{
	enum { VALUES = 4, BYTES = 3 << 20 };
	char *head = xmalloc(BYTES);
	memset(head, ' ', BYTES);
	head[0] = '"';
	for (int i = 0; i < VALUES; i++) {
		char key[16];
		uint64_t revision;
		snprintf(key, sizeof(key), "large/%d", i);
		const struct apiserver_write w = { .key = key,
						   .head = { head, BYTES },
						   .tail = SLICE("\"") };
		assert_int_equal(apiserver_store_write(store, &w, 1, &revision, NULL), 0);
	}
	free(head);
}

/* A get answers the same whether the ring still has the object's last change or not. */
static void newest_from_ring_and_table(void **state)
{
	struct fixture *f = *state;
	uint64_t kept = put(f->s, "p/kept", 0, "1");
	uint64_t back = put(f->s, "p/back", 0, "1"), gone = put(f->s, "p/gone", 0, "1");
	for (int i = 0; i < 3; i++)
		kept = put(f->s, "p/kept", kept, "2");
	del(f->s, "p/gone", gone);
	del(f->s, "p/back", back);
	assert_absent(f->s, "p/back");
	back = put(f->s, "p/back", 0, "3");
	for (int i = 0; i < 2; i++) {
		assert_there(f->s, "p/kept", "2", kept);
		assert_there(f->s, "p/back", "3", back);
		assert_absent(f->s, "p/gone");
		assert_absent(f->s, "p/never");
		flush_ring(f->s);
		for (int k = 0; k < 4; k++) {
			char key[16];
			struct strbuf value = STRBUF_INIT;
			uint64_t at;
			snprintf(key, sizeof(key), "large/%d", k);
			assert_int_equal(apiserver_store_get(f->s, key, &value, &at), 0);
			strbuf_done(&value);
			del(f->s, key, at);
		}
	}
	/* After it left the ring, a new change is found there again. */
	kept = put(f->s, "p/kept", kept, "4");
	assert_there(f->s, "p/kept", "4", kept);
	fixture_reopen(f);
	assert_there(f->s, "p/kept", "4", kept);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = { T(order_and_prefix),
					    T(pages),
					    T(older_views),
					    T(rows_of_a_view),
					    T(callee_stops),
					    T(one_view),
					    T(newest_from_ring_and_table) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
