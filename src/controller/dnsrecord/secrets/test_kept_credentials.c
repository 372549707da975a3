/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Credentials that outlive their Secret: who uses which, limits, and the last user's release (DR-52a). */
#include "controller/dnsrecord/secrets/kept_credentials.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "controller/dnsrecord/secrets/credentials.h"
#include "provider/provider.h"

static int setup(void **state)
{
	struct dnsrecord_kept *kept = xcalloc(1, sizeof(*kept));
	dnsrecord_kept_init(kept);
	*state = kept;
	return 0;
}

static int teardown(void **state)
{
	dnsrecord_kept_done(*state);
	free(*state);
	return 0;
}

static struct dnsrecord_use use_of(const char *key, const char *secret)
{
	return (struct dnsrecord_use){ key, key, "ns", "ns", secret };
}

/* One value of that length. */
static void store(struct dnsrecord_kept *kept, const struct dnsrecord_use *use, char letter,
		  size_t length)
{
	CLEANUP(dnsrecord_credentials_done) struct dnsrecord_credentials credentials = { 0 };
	CLEANUP(freep) char *text = xcalloc(length + 1, 1);
	struct secret value = { text, length };
	struct provider_credential named = { "key", { text, length } };
	memset(text, letter, length);
	dnsrecord_credentials_copy(
		&(struct dnsrecord_credentials){
			.v = &named, .values = &value, .n = 1, .hash = (uint64_t)letter },
		&credentials);
	dnsrecord_kept_store(kept, use, &credentials);
}

/* The first letter of what is kept; '-': nothing. */
static char recall(struct dnsrecord_kept *kept, const struct dnsrecord_use *use)
{
	CLEANUP(dnsrecord_credentials_done) struct dnsrecord_credentials found = { 0 };
	if (!dnsrecord_kept_recall(kept, use, &found))
		return '-';
	assert_int_equal(found.n, 1);
	assert_string_equal(found.v[0].name, "key");
	return found.v[0].value.p[0];
}

static void remembers_the_last_for_its_users(void **state)
{
	struct dnsrecord_kept *kept = *state;
	struct dnsrecord_use first = use_of("ns/a", "s"), second = use_of("ns/b", "s");
	struct dnsrecord_use stranger = { "other/c", "c", "other", "ns", "s" }, renewed = first;
	store(kept, &first, 'x', 10); /* nobody uses it */
	assert_int_equal(recall(kept, &first), '-');
	assert_true(dnsrecord_kept_begin(kept, &first));
	assert_true(dnsrecord_kept_begin(kept, &second));
	store(kept, &first, 'x', 10);
	store(kept, &second, 'y', 10);
	assert_int_equal(recall(kept, &first), 'y');
	/* Another namespace has what it read itself; what it may read can have ended. */
	assert_int_equal(recall(kept, &stranger), '-');
	assert_true(dnsrecord_kept_begin(kept, &stranger));
	assert_int_equal(recall(kept, &stranger), '-');
	store(kept, &stranger, 'z', 10);
	assert_int_equal(recall(kept, &first), 'y');
	assert_int_equal(recall(kept, &stranger), 'z');
	/* An object of the same name is another one. */
	renewed.uid = "another";
	assert_int_equal(recall(kept, &renewed), '-');
	assert_false(dnsrecord_kept_has(kept, &renewed));
	/* With its last user it goes. */
	dnsrecord_kept_drop(kept, "ns/a");
	assert_int_equal(recall(kept, &first), '-');
	assert_int_equal(recall(kept, &second), 'y');
	dnsrecord_kept_drop(kept, "ns/b");
	dnsrecord_kept_drop(kept, "other/c");
	assert_int_equal(kept->secrets.n, 0);
	assert_int_equal(kept->namespaces.n, 0);
	assert_int_equal(kept->bytes, 0);
}

static void one_namespace_leaves_room_for_others(void **state)
{
	struct dnsrecord_kept *kept = *state;
	struct dnsrecord_use large = use_of("ns/large", "large"), other = use_of("other/a", "s");
	assert_true(dnsrecord_kept_begin(kept, &large));
	store(kept, &large, 'x', DNSRECORD_KEPT_SECRET_MAX_BYTES);
	assert_int_equal(recall(kept, &large), '-');
	unsigned n_kept = 0;
	for (int i = 0; i < 32; i++) {
		char key[32];
		snprintf(key, sizeof(key), "ns/%d", i);
		struct dnsrecord_use one = use_of(key, key + 3);
		assert_true(dnsrecord_kept_begin(kept, &one));
		store(kept, &one, 'x', DNSRECORD_KEPT_SECRET_MAX_BYTES / 2);
		n_kept += recall(kept, &one) == 'x';
	}
	assert_in_range(n_kept, 6, 8);
	other.ns = other.secret_ns = "other";
	assert_true(dnsrecord_kept_begin(kept, &other));
	store(kept, &other, 'o', DNSRECORD_KEPT_SECRET_MAX_BYTES / 2);
	assert_int_equal(recall(kept, &other), 'o');
}

static void last_user_releases(void **state)
{
	struct dnsrecord_kept *kept = *state;
	struct dnsrecord_use first = use_of("ns/a", "s"), second = use_of("ns/b", "s"),
			     third = use_of("ns/c", "s");
	assert_true(dnsrecord_kept_begin(kept, &first));
	assert_true(dnsrecord_kept_begin(kept, &second));
	assert_int_equal(dnsrecord_kept_begin_release(kept, &first), DNSRECORD_RELEASE_LEFT);
	assert_true(dnsrecord_kept_has_left(kept, &first));
	assert_false(dnsrecord_kept_has_left(kept, &second));
	assert_int_equal(dnsrecord_kept_begin_release(kept, &second), DNSRECORD_RELEASE_BEGUN);
	/* Nobody begins in between, and one that was never seen does not end: it may be what keeps the finalizer. */
	struct dnsrecord_use unseen = use_of("ns/d", "s");
	assert_false(dnsrecord_kept_begin(kept, &third));
	assert_int_equal(dnsrecord_kept_begin_release(kept, &unseen), DNSRECORD_RELEASE_BUSY);
	assert_false(dnsrecord_kept_has_left(kept, &unseen));
	dnsrecord_kept_end_release(kept, &second);
	assert_true(dnsrecord_kept_begin(kept, &third));
	/* One that was never seen, as after a restart. */
	assert_int_equal(dnsrecord_kept_begin_release(kept, &unseen), DNSRECORD_RELEASE_LEFT);
	assert_true(dnsrecord_kept_has_left(kept, &unseen));
	dnsrecord_kept_drop(kept, "ns/c");
	assert_int_equal(dnsrecord_kept_begin_release(kept, &unseen), DNSRECORD_RELEASE_BEGUN);
	dnsrecord_kept_end_release(kept, &unseen);
	assert_int_equal(kept->secrets.n, 0);
}

static void another_secret(void **state)
{
	struct dnsrecord_kept *kept = *state;
	struct dnsrecord_use before = use_of("ns/a", "s"), after = use_of("ns/a", "t");
	char *uid = NULL;
	assert_true(dnsrecord_kept_begin(kept, &before));
	store(kept, &before, 'x', 10);
	assert_true(dnsrecord_kept_begin(kept, &after));
	assert_true(dnsrecord_kept_has_left(kept, &before));
	assert_int_equal(recall(kept, &before), '-');
	assert_int_equal(kept->bytes, 0);
	assert_int_equal(dnsrecord_kept_begin_release(kept, &before), DNSRECORD_RELEASE_BEGUN);
	dnsrecord_kept_end_release(kept, &before);
	assert_true(dnsrecord_kept_has(kept, &after));
	char *secret = dnsrecord_kept_secret_of(kept, "ns/a", &uid);
	assert_string_equal(secret, "ns/t");
	assert_string_equal(uid, "ns/a");
	free(secret);
	free(uid);
	assert_int_equal(dnsrecord_kept_begin_release(kept, &after), DNSRECORD_RELEASE_BEGUN);
	dnsrecord_kept_end_release(kept, &after);
	assert_null(dnsrecord_kept_secret_of(kept, "ns/a", &uid));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(remembers_the_last_for_its_users, setup, teardown),
		cmocka_unit_test_setup_teardown(one_namespace_leaves_room_for_others, setup,
						teardown),
		cmocka_unit_test_setup_teardown(last_user_releases, setup, teardown),
		cmocka_unit_test_setup_teardown(another_secret, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
