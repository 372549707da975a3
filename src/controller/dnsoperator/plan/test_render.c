/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rendering: what must hold for any object. Texts of whole objects are in cases/ (test_plan.c). */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/rng_test.h"
#include "controller/dnsoperator/plan/dns_spec.h"
#include "controller/dnsoperator/plan/test_shape.h"
#include "controller/dnsoperator/plan/validate_templates.h"
#include "controller/dnsoperator/plan/zones.h"

/* What could break out, among what could be accepted. */
static const char *const pieces[] = {
	"a",	   "example.com", ".",	      "cluster.local",
	"local",   "1.2.3.4",	  ":53",      "TLS",
	"dns",	   "Network",	  "::1",      "{{ .Name }} 60 IN AAAA ::1",
	"\n",	   "\r",	  " ",	      "{",
	"}",	   "\"",	  "\\",	      "#",
	"{$HOME}", "{%A%}",	  "import x", "\t",
	"(",	   ")",		  "\xc2\x85", "\xe2\x80\xa8",
	"\0",	   ",",		  "/",	      "*",
	"Random",  "TCP",	  "Debug",    "5m",
	"`",	   "'",		  "$",	      "ca",
	"-",	   "\x7f",	  "5353",     "http://",
};

static void any_texts(void **state)
{
	(void)state;
	enum { TURNS = 4000 };
	struct rng r;
	rng_init_seed(&r, 8);
	for (int i = 0; i < TURNS; i++) {
		struct strbuf in = STRBUF_INIT;
		for (int part = 0; part < SHAPE_PARTS; part++) {
			uint32_t n = rng_below(&r, 4);
			for (uint32_t k = 0; k < n; k++) {
				const char *s = pieces[rng_below(&r, ARRAY_LEN(pieces))];
				strbuf_add(&in, s, s[0] != '\0' ? strlen(s) : 1);
			}
			strbuf_addc(&in, (char)SHAPE_SEPARATOR);
		}
		shape_try(strbuf_slice(&in));
		strbuf_done(&in);
	}
}

/* All that is right but for one field with a hostile text. */
static void one_hostile_field(void **state)
{
	(void)state;
	static const char *const good[SHAPE_PARTS] = {
		"Random",
		"TCP",
		"TLS",
		"dns.example",
		"ca",
		"Network",
		"192.0.2.1",
		"a",
		"b.test",
		"1.2.3.4",
		"one",
		".",
		"{{ .Name }} 60 IN AAAA ::1",
		"Debug",
		"5m",
	};
	size_t accepted = 0;
	for (size_t field = 0; field < SHAPE_PARTS; field++) {
		for (size_t p = 0; p < ARRAY_LEN(pieces); p++) {
			for (int where = 0; where < 3; where++) {
				struct strbuf in = STRBUF_INIT;
				for (size_t i = 0; i < SHAPE_PARTS; i++) {
					const char *s = pieces[p];
					size_t n = s[0] != '\0' ? strlen(s) : 1;
					if (i == field && where != 1)
						strbuf_add(&in, s, n);
					if ((i != field || where != 0) && good[i] != NULL)
						strbuf_adds(&in, good[i]);
					if (i == field && where == 1)
						strbuf_add(&in, s, n);
					strbuf_addc(&in, (char)SHAPE_SEPARATOR);
				}
				accepted += shape_try(strbuf_slice(&in));
				strbuf_done(&in);
			}
		}
	}
	/* in many places the values are valid, so that the other checks were reached */
	assert_true(accepted > 500);
}

static json_t *big_list(size_t templates, size_t zones, size_t label)
{
	json_t *list = json_array();
	for (size_t i = 0; i < templates; i++) {
		json_t *z = json_array();
		char name[32], zone[200];
		for (size_t k = 0; k < zones; k++) {
			snprintf(zone, sizeof(zone), "%.*s%zu-%zu.example", (int)label,
				 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", i, k);
			json_array_append_new(z, json_string(zone));
		}
		snprintf(name, sizeof(name), "t%zu", i);
		json_array_append_new(list, json_pack("{ss,so,s{s{}}}", "name", name, "zones", z,
						      "action", "returnEmpty"));
	}
	return list;
}

static json_t *many_servers(size_t n)
{
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++) {
		char zone[32];
		snprintf(zone, sizeof(zone), "s%zu.test", i);
		json_array_append_new(list,
				      json_pack("{ss,s[s],s{s[s]}}", "name", "s", "zones", zone,
						"forwardPlugin", "upstreams", "192.0.2.1"));
	}
	return list;
}

static void plan_of(size_t templates, size_t zones, size_t servers, const json_t *accepted,
		    struct dnsoperator_plan *p)
{
	static const struct dnsoperator_facts facts = { .gate = DNSOPERATOR_GATE_ON };
	json_t *o = json_pack("{s{sI},s{so,so}}", "metadata", "generation",
			      accepted != NULL ? (json_int_t)2 : (json_int_t)1, "spec", "templates",
			      big_list(templates, zones, 40), "servers", many_servers(servers));
	struct dnsoperator_plan_in in = { .dns = o, .facts = &facts, .accepted = accepted };
	dnsoperator_plan_make(&in, p);
	json_decref(o);
}

/* 20 templates of 256 zones are 20 stanzas (OP-T14) and fit; in each of many servers they do not.
 * */
static void as_large_as_allowed(void **state)
{
	(void)state;
	struct dnsoperator_plan p;
	size_t n = 0;
	plan_of(20, 256, 1, NULL, &p);
	assert_int_equal(p.templates.n, 0);
	assert_true(p.corefile.n <= DNSOPERATOR_COREFILE_MAX);
	for (const char *s = p.corefile.s; (s = strstr(s, "template IN AAAA")) != NULL; s++)
		n++;
	assert_int_equal(n, 2 * 20);
	dnsoperator_plan_done(&p);

	plan_of(20, 256, 200, NULL, &p);
	assert_string_equal(p.conditions[DNSOPERATOR_VALID].reason, "ConfigurationTooLarge");
	assert_null(strstr(p.corefile.s, "template"));
	assert_non_null(strstr(p.corefile.s, "s199.test:5353"));
	assert_null(json_object_get(p.accepted, "templates"));
	dnsoperator_plan_done(&p);
}

static void check_refused(const struct dnsoperator_problems *p, const char *field)
{
	assert_int_equal(p->n, field != NULL ? 1 : 0);
	if (field == NULL)
		return;
	assert_int_equal(p->v[0].reason, DNSOPERATOR_TOO_LARGE);
	assert_string_equal(p->v[0].field, field);
}

/* Templates that make the Corefile too large are refused; the last accepted list stays, whole. */
static void too_large_keeps_the_last(void **state)
{
	static const struct {
		size_t templates, zones, servers;
		bool refuses_templates, refuses_servers;
	} changes[] = {
		{ 20, 60, 30, false, true },  /* servers were added */
		{ 20, 64, 2, false, false },  /* both fit */
		{ 20, 100, 10, true, false }, /* more zones, with servers that fit */
		{ 20, 70, 100, false, true }, /* the new templates fit with the old servers */
		{ 0, 0, 5000, false, true },  /* without templates, too */
	};
	(void)state;
	struct dnsoperator_plan first, p;
	plan_of(20, 60, 10, NULL, &first);
	assert_int_equal(first.templates.n + first.servers.n, 0);
	assert_true(first.corefile.n > DNSOPERATOR_COREFILE_MAX / 2);
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		plan_of(changes[i].templates, changes[i].zones, changes[i].servers, first.accepted,
			&p);
		assert_true(p.corefile.n <= DNSOPERATOR_COREFILE_MAX);
		check_refused(&p.templates, changes[i].refuses_templates ? "spec.templates" : NULL);
		check_refused(&p.servers, changes[i].refuses_servers ? "spec.servers" : NULL);
		assert_int_equal(json_array_size(json_object_get(p.accepted, "servers")),
				 changes[i].refuses_servers ? 10 : changes[i].servers);
		size_t zones = changes[i].refuses_templates ? 60 : changes[i].zones;
		assert_int_equal(json_array_size(api_get(p.accepted, "templates[0].zones")), zones);
		assert_int_equal(strstr(p.corefile.s, "template IN AAAA a") != NULL, zones != 0);
		dnsoperator_plan_done(&p);
	}
	dnsoperator_plan_done(&first);
	/* where nothing was accepted yet */
	plan_of(1, 1, 5000, NULL, &p);
	check_refused(&p.templates, NULL);
	check_refused(&p.servers, "spec.servers");
	assert_non_null(strstr(p.corefile.s, "template IN AAAA a"));
	dnsoperator_plan_done(&p);
}

/* Each name is answered by the template of its longest zone, first come in the order of stanzas. */
static void check_order(struct rng *r)
{
	struct dnsoperator_template t[6] = { 0 };
	char text[6][8][64];
	const char *zones[6][8];
	struct dnsoperator_templates all = { t, ARRAY_LEN(t) };
	struct dnsoperator_stanzas order;
	struct arena a;
	static const char *const names[] = { "t0", "t1", "t2", "t3", "t4", "t5" };
	for (size_t i = 0; i < all.n; i++) {
		t[i].name = names[i];
		t[i].zones = zones[i];
		while (t[i].n_zones < 8) {
			char *z = text[i][t[i].n_zones];
			uint32_t labels = 1 + rng_below(r, 4);
			z[0] = '\0';
			for (uint32_t k = 0; k < labels; k++)
				snprintf(z + strlen(z), 64 - strlen(z), "%s%c", k != 0 ? "." : "",
					 (char)('a' + rng_below(r, 3)));
			/* a zone is in one template only */
			bool taken = false;
			for (size_t j = 0; j <= i; j++) {
				for (size_t k = 0; k < t[j].n_zones; k++)
					taken = taken || strcmp(t[j].zones[k], z) == 0;
			}
			if (taken)
				break;
			zones[i][t[i].n_zones++] = z;
		}
	}
	arena_init(&a);
	dnsoperator_stanzas_order(&all, &a, &order);
	size_t placed = 0;
	for (size_t s = 0; s < order.n; s++) {
		placed += order.v[s].n_zones;
		for (size_t later = s + 1; later < order.n; later++) {
			for (size_t k = 0; k < order.v[s].n_zones; k++) {
				for (size_t j = 0; j < order.v[later].n_zones; j++)
					assert_false(order.v[s].of != order.v[later].of &&
						     dnsoperator_zone_has(order.v[s].zones[k],
									  order.v[later].zones[j]));
			}
		}
	}
	size_t given = 0;
	for (size_t i = 0; i < all.n; i++)
		given += t[i].n_zones;
	assert_int_equal(placed, given);
	arena_done(&a);
}

static void longest_zone_first(void **state)
{
	(void)state;
	struct rng r;
	rng_init_seed(&r, 9);
	for (int i = 0; i < 2000; i++)
		check_order(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_texts),	       cmocka_unit_test(one_hostile_field),
		cmocka_unit_test(as_large_as_allowed), cmocka_unit_test(too_large_keeps_the_last),
		cmocka_unit_test(longest_zone_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
