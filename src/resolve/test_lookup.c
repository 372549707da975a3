/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lookups: the next server when one fails, TCP when truncated, many at once, cancelled at any point. */
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "resolve/lookup.h"
#include "resolve/test_env.h"

enum { SERVERS = 2 };

struct scene {
	struct loop *loop;
	struct fakeup *server[SERVERS];
	struct lookup_client *client;
};

struct asked {
	struct lookup lookup;
	unsigned done;
	int result;
	union net_addr addr[4];
	int n_addr;
	uint32_t ttl;
	uint8_t owner[DNS_NAME_MAX];
	char error[128];
};

static void on_done(struct lookup *lookup)
{
	struct asked *a = CONTAINER_OF(lookup, struct asked, lookup);
	a->done++;
	a->result = lookup->result;
	snprintf(a->error, sizeof(a->error), "%s", lookup->error);
	a->n_addr =
		lookup->result == 0 ? lookup_addresses(lookup, a->addr, 4, &a->ttl, a->owner) : 0;
}

static int setup(void **state)
{
	struct scene *scene = xcalloc(1, sizeof(*scene));
	union net_addr at[SERVERS];
	clock_set_source(&env_clocks);
	scene->loop = loop_new();
	for (int i = 0; i < SERVERS; i++) {
		scene->server[i] = fakeup_new();
		at[i] = *fakeup_addr(scene->server[i]);
	}
	scene->client = lookup_client_new(
		&(struct lookup_conf){ .loop = scene->loop, .servers = at, .n_servers = SERVERS });
	*state = scene;
	return 0;
}

static int teardown(void **state)
{
	struct scene *scene = *state;
	lookup_client_free(scene->client);
	for (int i = 0; i < SERVERS; i++)
		fakeup_free(scene->server[i]);
	loop_free(scene->loop);
	clock_set_source(NULL);
	free(scene);
	return 0;
}

static void turn(struct scene *scene)
{
	for (int i = 0; i < 4; i++)
		loop_turn(scene->loop, false);
}

static void pass_time(struct scene *scene, uint64_t ns)
{
	env_now += ns;
	turn(scene);
}

static void ask(struct scene *scene, struct asked *a, const char *name, uint16_t type)
{
	*a = (struct asked){ .lookup = { .type = type, .done = on_done } };
	assert_true(dns_name_from_text(slice_of(name), a->lookup.name) > 0);
	lookup_start(scene->client, &a->lookup);
	assert_int_equal(a->done, 0);
	turn(scene);
}

static void addresses(void **state)
{
	struct scene *scene = *state;
	struct asked a;
	char text[NET_ADDR_TEXT_MAX];
	ask(scene, &a, "a.example.", DNS_TYPE_A);
	assert_string_equal(fakeup_next(scene->server[0]), "udp a.example. IN A");
	fakeup_answer(scene->server[0],
		      "a.example. 300 IN CNAME b.example.\n"
		      "b.example. 60 IN A 192.0.2.1\nb.example. 90 IN A 192.0.2.2");
	turn(scene);
	assert_int_equal(a.done, 1);
	assert_int_equal(a.result, 0);
	assert_int_equal(a.n_addr, 2);
	assert_int_equal(a.ttl, 60);
	net_addr_ip_str(&a.addr[1], text);
	assert_string_equal(text, "192.0.2.2");
	assert_memory_equal(a.owner, "\1b\7example", 11);
	ask(scene, &a, "a.example.", DNS_TYPE_AAAA);
	assert_string_equal(fakeup_next(scene->server[0]), "udp a.example. IN AAAA");
	fakeup_answer(scene->server[0], "a.example. 60 IN AAAA 2001:db8::1");
	turn(scene);
	net_addr_ip_str(&a.addr[0], text);
	assert_string_equal(text, "2001:db8::1");
}

static void no_such_name(void **state)
{
	struct scene *scene = *state;
	struct asked a;
	ask(scene, &a, "a.example.", DNS_TYPE_A);
	assert_non_null(fakeup_next(scene->server[0]));
	fakeup_reply(scene->server[0], &(struct fakeup_reply){ .rcode = DNS_RCODE_NXDOMAIN });
	turn(scene);
	assert_int_equal(a.result, 0);
	assert_int_equal(a.lookup.rcode, DNS_RCODE_NXDOMAIN);
	assert_int_equal(a.n_addr, 0);
	assert_int_equal(a.owner[0], 0);
	assert_int_equal(a.ttl, 60); /* nothing says for how long */
	ask(scene, &a, "b.example.", DNS_TYPE_A);
	assert_non_null(fakeup_next(scene->server[0]));
	fakeup_reply(scene->server[0],
		     &(struct fakeup_reply){ .rcode = DNS_RCODE_NXDOMAIN,
					     .authority = "example. 300 IN SOA ns.example. "
							  "h.example. 1 2 3 4 20" });
	turn(scene);
	assert_int_equal(a.ttl, 20);
}

static void truncated_goes_over_tcp(void **state)
{
	struct scene *scene = *state;
	struct asked a;
	ask(scene, &a, "a.example.", DNS_TYPE_A);
	assert_string_equal(fakeup_next(scene->server[0]), "udp a.example. IN A");
	fakeup_reply(scene->server[0], &(struct fakeup_reply){ .set_flags = DNS_FLAG_TC });
	turn(scene);
	assert_int_equal(a.done, 0);
	assert_string_equal(fakeup_next(scene->server[0]), "tcp a.example. IN A");
	fakeup_answer(scene->server[0], "a.example. 60 IN A 192.0.2.1");
	turn(scene);
	assert_int_equal(a.n_addr, 1);
}

/* One fails, one is silent: each is asked twice, the last fault is reported. */
static void servers_in_turn(void **state)
{
	struct scene *scene = *state;
	struct asked a;
	ask(scene, &a, "a.example.", DNS_TYPE_A);
	for (int round = 0; round < LOOKUP_ROUNDS; round++) {
		assert_non_null(fakeup_next(scene->server[0]));
		fakeup_reply(scene->server[0],
			     &(struct fakeup_reply){ .rcode = DNS_RCODE_SERVFAIL });
		turn(scene);
		assert_int_equal(a.done, 0);
		assert_string_equal(fakeup_next(scene->server[1]), "udp a.example. IN A");
		pass_time(scene, LOOKUP_TRY_NS + NS_PER_MS);
	}
	assert_int_equal(a.done, 1);
	assert_int_equal(a.result, -ETIMEDOUT);
	assert_non_null(strstr(a.error, ": no answer"));
	assert_null(fakeup_next(scene->server[0]));
	/* the next lookup: the second server knows it */
	ask(scene, &a, "b.example.", DNS_TYPE_A);
	assert_non_null(fakeup_next(scene->server[0]));
	fakeup_reply(scene->server[0], &(struct fakeup_reply){ .rcode = DNS_RCODE_REFUSED });
	turn(scene);
	assert_non_null(fakeup_next(scene->server[1]));
	fakeup_answer(scene->server[1], "b.example. 60 IN A 192.0.2.1");
	turn(scene);
	assert_int_equal(a.result, 0);
}

/* The next lookup does not wait for a server that was silent. */
static void silent_server_is_not_first(void **state)
{
	struct scene *scene = *state;
	struct asked a;
	ask(scene, &a, "a.example.", DNS_TYPE_A);
	assert_non_null(fakeup_next(scene->server[0]));
	pass_time(scene, LOOKUP_TRY_NS + NS_PER_MS);
	assert_non_null(fakeup_next(scene->server[1]));
	fakeup_answer(scene->server[1], "a.example. 60 IN A 192.0.2.1");
	turn(scene);
	assert_int_equal(a.result, 0);
	ask(scene, &a, "b.example.", DNS_TYPE_A);
	assert_null(fakeup_next(scene->server[0]));
	assert_string_equal(fakeup_next(scene->server[1]), "udp b.example. IN A");
	lookup_cancel(&a.lookup);
}

static void failures_have_words(void **state)
{
	struct scene *scene = *state;
	struct asked a;
	ask(scene, &a, "a.example.", DNS_TYPE_A);
	for (int i = 0; i < LOOKUP_ROUNDS * SERVERS; i++) {
		assert_non_null(fakeup_next(scene->server[i % SERVERS]));
		fakeup_reply(scene->server[i % SERVERS],
			     &(struct fakeup_reply){ .rcode = DNS_RCODE_REFUSED });
		turn(scene);
	}
	assert_int_equal(a.result, ERR_BUSY);
	assert_int_equal(a.lookup.rcode, DNS_RCODE_REFUSED);
	assert_non_null(strstr(a.error, ": REFUSED"));
}

static void many_wait_for_their_turn(void **state)
{
	enum { MANY = 10 * LOOKUP_AT_ONCE };
	struct scene *scene = *state;
	struct asked *all = xcalloc(MANY, sizeof(*all));
	unsigned answered = 0;
	for (int i = 0; i < MANY; i++) {
		char name[32];
		snprintf(name, sizeof(name), "n%d.example.", i);
		all[i] = (struct asked){ .lookup = { .type = DNS_TYPE_A, .done = on_done } };
		assert_true(dns_name_from_text(slice_of(name), all[i].lookup.name) > 0);
		lookup_start(scene->client, &all[i].lookup);
	}
	lookup_cancel(&all[MANY - 1].lookup);
	lookup_cancel(&all[0].lookup);
	lookup_cancel(&all[0].lookup);
	turn(scene);
	for (int idle = 0; idle < 100; idle++) {
		while (fakeup_next(scene->server[0]) != NULL) {
			fakeup_answer(scene->server[0], "");
			answered++;
			idle = 0;
			turn(scene);
		}
		turn(scene);
	}
	for (int i = 1; i < MANY - 1; i++)
		assert_int_equal(all[i].done, 1);
	assert_int_equal(all[0].done + all[MANY - 1].done, 0);
	assert_true(answered >= MANY - 2);
	free(all);
}

static void ends_with_the_client(void **state)
{
	struct scene *scene = *state;
	struct asked a, b;
	ask(scene, &a, "a.example.", DNS_TYPE_A);
	ask(scene, &b, "b.example.", DNS_TYPE_A);
	lookup_client_free(scene->client);
	scene->client = NULL;
	turn(scene);
	assert_int_equal(a.done + b.done, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(addresses),
		T(no_such_name),
		T(truncated_goes_over_tcp),
		T(servers_in_turn),
		T(silent_server_is_not_first),
		T(failures_have_words),
		T(many_wait_for_their_turn),
		T(ends_with_the_client),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
