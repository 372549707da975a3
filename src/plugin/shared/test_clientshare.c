/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shares of clients: one alone, one after the other, and after some were put back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plugin/shared/clientshare.h"
#include "server/handler.h"

const struct plugin *const plugin_list[] = { NULL };

/* As many as the client gets. */
static unsigned take_all(struct clientshare *share, uint64_t key)
{
	unsigned n = 0;
	while (clientshare_take(share, key))
		n++;
	return n;
}

static void put(struct clientshare *share, uint64_t key, unsigned n)
{
	while (n-- > 0)
		clientshare_put(share, key);
}

static void one_leaves_room_for_the_next(void **state)
{
	static const unsigned shares[] = { 16, 8, 4, 2, 1, 1, 0 };
	struct clientshare share;
	(void)state;
	clientshare_init(&share, 32);
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(take_all(&share, i), shares[i]);
	for (size_t i = 0; i < 7; i++)
		put(&share, i, shares[i]);
	clientshare_done(&share);
}

static void places_put_back_are_free(void **state)
{
	struct clientshare share;
	(void)state;
	clientshare_init(&share, CLIENTSHARE_MAX);
	for (uint64_t key = 0; key < CLIENTSHARE_MAX; key++)
		assert_true(clientshare_take(&share, key));
	assert_false(clientshare_take(&share, CLIENTSHARE_MAX));
	for (uint64_t key = 0; key < CLIENTSHARE_MAX; key++)
		clientshare_put(&share, key);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(take_all(&share, 7), CLIENTSHARE_MAX / 2);
		assert_true(clientshare_take(&share, 8));
		put(&share, 7, CLIENTSHARE_MAX / 2);
		clientshare_put(&share, 8);
	}
	clientshare_done(&share);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_leaves_room_for_the_next),
		cmocka_unit_test(places_put_back_are_free),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
