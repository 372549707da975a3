/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The provider `local` under the publisher: any name has a zone, valid sets are accepted, others are refused
 * alone, deletions succeed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock_test.h"
#include "base/compiler.h"
#include "dns/types.h"
#include "net/loop.h"
#include "provider/publisher.h"

static uint64_t now_ns;

static uint64_t read_clock(void)
{
	return now_ns;
}

static const struct clock_source test_clock = { read_clock, read_clock };

struct rig {
	struct loop *loop;
	struct publisher *publisher;
	struct publisher_account *account;
};

struct wish {
	struct publisher_request request;
	struct provider_edit edit;
	bool is_done;
};

static int open_rig(void **state)
{
	static struct rig rig;
	char err[200] = "";
	now_ns = 1000 * NS_PER_S;
	clock_set_source(&test_clock);
	rig.loop = loop_new();
	rig.publisher = publisher_new(&(struct publisher_conf){ .loop = rig.loop });
	struct publisher_account_conf conf = { .provider = provider_find("local") };
	assert_int_equal(publisher_account_open(rig.publisher, &conf, &rig.account, ERR_TEXT(err)),
			 0);
	*state = &rig;
	return 0;
}

static int close_rig(void **state)
{
	struct rig *rig = *state;
	publisher_account_unref(rig->account);
	publisher_free(rig->publisher);
	loop_free(rig->loop);
	clock_set_source(NULL);
	return 0;
}

static void on_done(struct publisher_request *request)
{
	CONTAINER_OF(request, struct wish, request)->is_done = true;
}

static void submit(struct rig *rig, struct wish *wish, uint16_t type, const char *name,
		   const char *const *values, size_t n_values)
{
	*wish = (struct wish){
		.request = { .account = rig->account, .n_edits = 1, .done = on_done },
		.edit = { .set = { .name = name,
				   .type = type,
				   .ttl_s = 120,
				   .values = values,
				   .n_values = n_values,
				   .owner = "me" },
			  .guard = PROVIDER_GUARD_OWNED },
	};
	wish->request.edits = &wish->edit;
	publisher_submit(rig->publisher, &wish->request);
}

static void expect(struct rig *rig, struct wish *wish, enum provider_code code)
{
	for (unsigned i = 0; !wish->is_done; i++) {
		assert_true(i < 1000);
		now_ns += NS_PER_MS;
		loop_turn(rig->loop, false);
	}
	if (wish->request.code != code)
		fail_msg("%s: %s", provider_code_label(wish->request.code),
			 wish->request.error != NULL ? wish->request.error : "");
	assert_string_equal(wish->request.zone_id, "local");
	publisher_request_release(&wish->request);
}

static void any_name_is_accepted(void **state)
{
	static const char *const names[] = { "api.local.gardener.cloud", "example.com",
					     "a.b.c.example.org", "*.example.com" };
	static const char *const values[] = { "192.0.2.1" };
	struct wish wishes[ARRAY_LEN(names)];
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		submit(*state, &wishes[i], DNS_TYPE_A, names[i], values, 1);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		expect(*state, &wishes[i], PROVIDER_OK);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		submit(*state, &wishes[i], DNS_TYPE_A, names[i], NULL, 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		expect(*state, &wishes[i], PROVIDER_OK);
}

static void bad_sets_are_refused_alone(void **state)
{
	static const char *const good[] = { "192.0.2.1" }, *const bad[] = { "2001:db8::1" };
	const char *many[1001];
	struct wish wishes[4];
	for (size_t i = 0; i < ARRAY_LEN(many); i++)
		many[i] = "192.0.2.1";
	submit(*state, &wishes[0], DNS_TYPE_A, "a.example.com", good, 1);
	submit(*state, &wishes[1], DNS_TYPE_A, "b.example.com", bad, 1);
	submit(*state, &wishes[2], DNS_TYPE_A, "c.example.com", many, ARRAY_LEN(many));
	submit(*state, &wishes[3], DNS_TYPE_TXT, "d.example.com", bad, 1);
	expect(*state, &wishes[0], PROVIDER_OK);
	expect(*state, &wishes[1], PROVIDER_INVALID);
	expect(*state, &wishes[2], PROVIDER_INVALID);
	expect(*state, &wishes[3], PROVIDER_OK);
}

static void a_call_may_be_cancelled(void **state)
{
	static const char *const values[] = { "192.0.2.1" };
	struct rig *rig = *state;
	struct wish wish;
	submit(rig, &wish, DNS_TYPE_A, "a.example.com", values, 1);
	now_ns += NS_PER_S;
	loop_turn(rig->loop, false);
	publisher_cancel(rig->publisher, &wish.request);
	assert_false(wish.is_done);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, open_rig, close_rig)
	const struct CMUnitTest tests[] = {
		TEST(any_name_is_accepted),
		TEST(bad_sets_are_refused_alone),
		TEST(a_call_may_be_cancelled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
