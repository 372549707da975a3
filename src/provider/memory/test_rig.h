/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A publisher on a loop with a clock of the test's own, and the provider `memory`. Nothing sleeps:
 * the clock moves by a millisecond with each turn of the loop. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock_test.h"
#include "base/compiler.h"
#include "base/mem.h"
#include "dns/types.h"
#include "net/loop.h"
#include "provider/memory/memory_test.h"
#include "provider/publisher.h"

static uint64_t test_now_ns;

static uint64_t read_test_clock(void)
{
	return test_now_ns;
}

static const struct clock_source test_clock = { read_test_clock, read_test_clock };

struct rig {
	struct loop *loop;
	struct publisher *publisher;
	struct memory_server *server; /* of `account` */
	struct provider provider;     /* memory's, with limits of the test */
	struct publisher_account *account;
	uint64_t lease_end_ns;
};

/* A request with its texts, and how it ended. */
struct wish {
	struct publisher_request request;
	struct provider_edit edits[3];
	const char *values[3][3];
	char names[3][64];
	char texts[3][64];
	uint64_t submitted_ns, done_ns; /* 0: not yet */
	unsigned n_sent;
};

static uint64_t rig_lease_end(void *ctx)
{
	return ((struct rig *)ctx)->lease_end_ns;
}

static struct publisher_account *open_rig_account(struct rig *rig, const char *server)
{
	struct provider_credential credentials[] = { { "server", slice_of(server) },
						     { "password", SLICE("s3cr3t-word") } };
	struct publisher_account_conf conf = { .provider = &rig->provider,
					       .credentials = credentials,
					       .n_credentials = ARRAY_LEN(credentials) };
	struct publisher_account *account;
	char err[200] = "";
	if (publisher_account_open(rig->publisher, &conf, &account, ERR_TEXT(err)) < 0)
		fail_msg("%s", err);
	return account;
}

static inline void rig_open(struct rig *rig, const struct provider_caps *caps)
{
	test_now_ns = 1000 * NS_PER_S;
	clock_set_source(&test_clock);
	*rig = (struct rig){ .loop = loop_new(),
			     .provider = *provider_find("memory"),
			     .lease_end_ns = UINT64_MAX };
	if (caps != NULL)
		rig->provider.caps = *caps;
	rig->publisher = publisher_new(&(struct publisher_conf){
		.loop = rig->loop, .lease_end_by = rig_lease_end, .ctx = rig });
	rig->server = memory_server_get("first");
	memory_store_add_zone(&rig->server->store, "Z1", "example.com", false);
	rig->account = open_rig_account(rig, "first");
}

static inline void rig_close(struct rig *rig)
{
	publisher_account_unref(rig->account);
	publisher_free(rig->publisher);
	memory_server_free(rig->server);
	loop_free(rig->loop);
	clock_set_source(NULL);
}

static void run_ms(struct rig *rig, unsigned ms)
{
	for (unsigned i = 0; i < ms; i++) {
		test_now_ns += NS_PER_MS;
		loop_turn(rig->loop, false);
	}
}

static void on_wish_done(struct publisher_request *request)
{
	struct wish *wish = CONTAINER_OF(request, struct wish, request);
	assert_int_equal(wish->done_ns, 0);
	wish->done_ns = test_now_ns;
}

static void on_wish_sent(struct publisher_request *request)
{
	CONTAINER_OF(request, struct wish, request)->n_sent++;
}

/* An A record set; `value` NULL: its deletion. */
static void add_edit(struct wish *wish, uint16_t type, const char *name, const char *value,
		     enum provider_guard guard)
{
	size_t i = wish->request.n_edits++;
	snprintf(wish->names[i], sizeof(wish->names[i]), "%s", name);
	snprintf(wish->texts[i], sizeof(wish->texts[i]), "%s", value != NULL ? value : "");
	wish->values[i][0] = wish->texts[i];
	wish->edits[i] = (struct provider_edit){ .set = { .name = wish->names[i],
							  .type = type,
							  .ttl_s = 120,
							  .values = wish->values[i],
							  .n_values = value != NULL },
						 .guard = guard };
	wish->request.edits = wish->edits;
}

static void submit_wish(struct rig *rig, struct wish *wish)
{
	if (wish->request.account == NULL)
		wish->request.account = rig->account;
	wish->request.done = on_wish_done;
	wish->request.sent = on_wish_sent;
	wish->submitted_ns = test_now_ns;
	wish->done_ns = 0;
	publisher_submit(rig->publisher, &wish->request);
}

static UNUSED struct wish *make_wish(struct rig *rig, const char *name, const char *value,
				     enum provider_guard guard)
{
	struct wish *wish = xcalloc(1, sizeof(*wish));
	add_edit(wish, DNS_TYPE_A, name, value, guard);
	submit_wish(rig, wish);
	return wish;
}

static UNUSED void free_wish(struct wish *wish)
{
	publisher_request_release(&wish->request);
	free(wish);
}

/* Until it is done; fails after `limit_ms`. */
static UNUSED void wait_wish(struct rig *rig, const struct wish *wish, unsigned limit_ms)
{
	for (unsigned i = 0; wish->done_ns == 0; i++) {
		if (i == limit_ms)
			fail_msg("not done after %u ms", limit_ms);
		run_ms(rig, 1);
	}
}

/* Its result, and no longer under way. */
static UNUSED void expect_wish(struct rig *rig, struct wish *wish, unsigned limit_ms,
			       enum provider_code code)
{
	wait_wish(rig, wish, limit_ms);
	if (wish->request.code != code)
		fail_msg("%s: %s", provider_code_label(wish->request.code),
			 wish->request.error != NULL ? wish->request.error : "");
	free_wish(wish);
}

/* The one value of an A record set in the first server's zone Z1; "": there is none. */
static UNUSED const char *stored_value(const struct rig *rig, const char *name)
{
	const struct provider_rrset *set =
		memory_store_get(&rig->server->store, "Z1", name, DNS_TYPE_A);
	return set != NULL ? set->values[0] : "";
}

/* Of another writer. */
static UNUSED void put_foreign(struct rig *rig, const char *name, const char *value)
{
	struct provider_rrset set = {
		.name = name, .type = DNS_TYPE_A, .ttl_s = 60, .values = &value, .n_values = 1
	};
	memory_store_put(&rig->server->store, "Z1", &set, true);
}
