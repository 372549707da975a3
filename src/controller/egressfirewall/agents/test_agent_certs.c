/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A year and a half of certificates for agents and servers, day by day: whatever copies of the day before are still
 * mounted, each side trusts the other; and neither passes for the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/tree.h"
#include "base/compiler.h"
#include "base/text/base64.h"
#include "controller/egressfirewall/agents/agent_certs.h"
#include "net/certgen.h"

#define START_S UINT64_C(1790000000)

enum { DAY_S = 86400, DAYS = 550, MINUTE_S = 60 };

struct world {
	struct egressfirewall_agent_certs certs;
	json_t *copy[EGRESSFIREWALL_SIDES]; /* as mounted: {"data": ...} */
	int changes;
};

static void publish(struct world *world, int side)
{
	json_decref(world->copy[side]);
	world->copy[side] = json_pack(
		"{s:o}", "data",
		egressfirewall_agent_certs_copy(&world->certs, (enum egressfirewall_side)side));
}

static int plan(struct world *world, int side, uint64_t now_s)
{
	char err[256] = "";
	int r = egressfirewall_agent_certs_plan(&world->certs, (enum egressfirewall_side)side,
						world->copy[1 - side], now_s, ERR_TEXT(err));
	if (r < 0)
		fail_msg("%s", err);
	world->changes += r;
	return r;
}

static void plan_both(struct world *world, uint64_t now_s)
{
	for (int side = 0; side < EGRESSFIREWALL_SIDES; side++)
		plan(world, side, now_s);
}

static struct world *world_new(uint64_t now_s)
{
	struct world *world = calloc(1, sizeof(*world));
	assert_non_null(world);
	egressfirewall_agent_certs_init(&world->certs);
	plan_both(world, now_s);
	for (int side = 0; side < EGRESSFIREWALL_SIDES; side++)
		publish(world, side);
	return world;
}

static void world_free(struct world *world)
{
	egressfirewall_agent_certs_done(&world->certs);
	for (int side = 0; side < EGRESSFIREWALL_SIDES; side++)
		json_decref(world->copy[side]);
	free(world);
}

static void decode(const json_t *copy, const char *key, struct strbuf *out)
{
	const char *text = api_text(json_object_get(json_object_get(copy, "data"), key));
	assert_int_equal(base64_decode(out, slice_of(text)), 0);
}

/* Would who trusts `bundle` accept the certificate of `copy`? */
static bool accepts(const json_t *bundle, const json_t *copy, uint64_t now_s)
{
	CLEANUP(strbuf_done) struct strbuf ca = STRBUF_INIT, cert = STRBUF_INIT;
	struct net_certinfo info;
	bool found = false;
	decode(bundle, "ca.crt", &ca);
	decode(copy, "tls.crt", &cert);
	assert_int_equal(net_certinfo(strbuf_slice(&cert), &info), 0);
	for (const char *at = ca.s; at != NULL && !found; at = strstr(at + 1, "-----BEGIN"))
		found = net_cert_signed_by(strbuf_slice(&cert), slice_of(at));
	return found && info.not_before_s <= now_s && now_s < info.not_after_s;
}

/* The kubelets of agents and of servers are up to a pass behind, in any combination. */
static void sides_trust_each_other(void **state UNUSED)
{
	struct world *world = world_new(START_S);
	for (uint64_t day = 0; day < DAYS; day++) {
		/* a pass a day, and one a minute as long as something changes */
		uint64_t now_s = START_S + day * DAY_S;
		for (int again = 0; again < 20; again++, now_s += MINUTE_S) {
			int before = world->changes;
			json_t *old[] = { json_incref(world->copy[0]),
					  json_incref(world->copy[1]) };
			plan_both(world, now_s);
			publish(world, 0);
			publish(world, 1);
			for (int i = 0; i < 4; i++) {
				const json_t *agent = i & 1 ? old[0] : world->copy[0];
				const json_t *server = i & 2 ? old[1] : world->copy[1];
				assert_true(accepts(agent, server, now_s));
				assert_true(accepts(server, agent, now_s));
			}
			assert_false(accepts(world->copy[0], world->copy[0], now_s));
			assert_false(accepts(world->copy[1], world->copy[1], now_s));
			json_decref(old[0]);
			json_decref(old[1]);
			if (world->changes == before)
				break;
		}
	}
	assert_in_range(world->changes, 20, 100); /* settled nearly always */
	world_free(world);
}

/* A process that ended between storing an authority and publishing it: however long that was ago, the next one
 * publishes first, and signs nothing with it for an overlap. */
static void unpublished_authorities_sign_nothing(void **state UNUSED)
{
	struct world *world = world_new(START_S);
	uint64_t later_s = START_S + 250 * (uint64_t)DAY_S;
	plan(world, EGRESSFIREWALL_AGENTS, later_s);
	publish(world, EGRESSFIREWALL_AGENTS); /* a new certificate; the servers' copy stays */
	struct strbuf *next = &world->certs.side[EGRESSFIREWALL_AGENTS].part[HOOKCERT_NEXT];
	assert_true(next->n != 0);
	char *unpublished = strdup(next->s);
	later_s += DAY_S;
	assert_int_equal(plan(world, EGRESSFIREWALL_AGENTS, later_s), 1);
	publish(world, EGRESSFIREWALL_AGENTS);
	assert_true(next->n != 0 && strcmp(next->s, unpublished) != 0);
	assert_true(accepts(world->copy[EGRESSFIREWALL_SERVERS], world->copy[EGRESSFIREWALL_AGENTS],
			    later_s));
	publish(world, EGRESSFIREWALL_SERVERS);
	assert_int_equal(plan(world, EGRESSFIREWALL_AGENTS, later_s + MINUTE_S), 0);
	assert_int_equal(plan(world, EGRESSFIREWALL_AGENTS, later_s + 11 * MINUTE_S), 1);
	assert_int_equal(next->n, 0); /* it signs now */
	publish(world, EGRESSFIREWALL_AGENTS);
	assert_true(accepts(world->copy[EGRESSFIREWALL_SERVERS], world->copy[EGRESSFIREWALL_AGENTS],
			    later_s + 11 * MINUTE_S));
	free(unpublished);
	world_free(world);
}

/* Keys that sign are in no copy, and agents' certificates have the name that servers ask for. */
static void copies(void **state UNUSED)
{
	struct world *world = world_new(START_S);
	CLEANUP(strbuf_done) struct strbuf cert = STRBUF_INIT;
	decode(world->copy[EGRESSFIREWALL_AGENTS], "tls.crt", &cert);
	assert_true(net_cert_has_name(strbuf_slice(&cert), "fairlead-node"));
	for (int side = 0; side < EGRESSFIREWALL_SIDES; side++) {
		CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
		decode(world->copy[side], "tls.key", &key);
		assert_int_equal(json_object_size(json_object_get(world->copy[side], "data")), 3);
		for (int other = 0; other < EGRESSFIREWALL_SIDES; other++)
			assert_string_not_equal(
				key.s, world->certs.side[other].part[HOOKCERT_SIGNER_KEY].s);
	}
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sides_trust_each_other),
		cmocka_unit_test(unpublished_authorities_sign_nothing),
		cmocka_unit_test(copies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
