/* SPDX-License-Identifier: GPL-3.0-or-later */
/* EF-16, EF-19: what other firewalls still use stays in use; every kind of use is counted on its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "controller/egressfirewall/rule_users.h"

static const char *const shop = "shop/default", *const bank = "bank/default";

static void collect_user(void *ctx, const char *firewall)
{
	strbuf_addf(ctx, "%s ", firewall);
}

static void assert_users(const struct rule_users *users, const char *object, const char *wanted)
{
	struct strbuf text = STRBUF_INIT;
	rule_users_each(users, object, collect_user, &text);
	assert_string_equal(text.s != NULL ? text.s : "", wanted);
	strbuf_done(&text);
}

static void adds_and_removes(void **state)
{
	struct rule_users users;
	(void)state;
	rule_users_init(&users);
	rule_users_add(&users, "wildcard.example.com", shop, RULE_USE_REGULAR);
	rule_users_add(&users, "wildcard.example.com", shop, RULE_USE_ONE_LABEL);
	rule_users_add(&users, "wildcard.example.com", shop, RULE_USE_REGULAR);
	rule_users_add(&users, "wildcard.example.com", bank, RULE_USE_REGULAR);
	rule_users_add(&users, "www.example.com", bank, RULE_USE_REGULAR);
	assert_users(&users, "wildcard.example.com", "shop/default bank/default ");
	assert_users(&users, "www.example.com", "bank/default ");
	assert_true(rule_users_have(&users, "wildcard.example.com", RULE_USE_ONE_LABEL));
	assert_false(rule_users_have(&users, "wildcard.example.com", RULE_USE_ANY_DEPTH));
	rule_users_remove(&users, "wildcard.example.com", shop);
	assert_true(rule_users_have(&users, "wildcard.example.com", RULE_USE_REGULAR));
	assert_false(rule_users_have(&users, "wildcard.example.com", RULE_USE_ONE_LABEL));
	rule_users_remove(&users, "wildcard.example.com", shop);
	rule_users_remove(&users, "unknown.example.com", shop);
	assert_users(&users, "wildcard.example.com", "bank/default ");
	rule_users_remove(&users, "wildcard.example.com", bank);
	assert_false(rule_users_have(&users, "wildcard.example.com", RULE_USE_REGULAR));
	assert_users(&users, "wildcard.example.com", "");
	assert_int_equal(users.by_object.n, 1);
	rule_users_done(&users);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(adds_and_removes) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
