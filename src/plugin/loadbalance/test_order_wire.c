/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Orders made in place: for any message the same records in the same order as in the open form, by
 * the same random numbers; and messages that must not be touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng_test.h"
#include "base/strbuf.h"
#include "plugin/loadbalance/loadbalance.h"
#include "plugin/loadbalance/order.h"
#include "plugin/loadbalance/order_wire.h"
#include "plugin/loadbalance/weights.h"

static const uint8_t question[] = "\3www\7example\3org\0\0\1\0\1";
enum { QUESTION_LEN = sizeof(question) - 1, MSG_MAX = 8192, ROUNDS = 20000 };

static const char *const owners[] = { "\3www\7example\3org", "\5other\7example\3org", "\3net",
				      "\1a\5other\7example\3org" };

struct kind {
	uint16_t type, rdlen;
	const char *rdata;
};

static const struct kind kinds[] = {
	{ DNS_TYPE_A, 4, "\300\0\2" },
	{ DNS_TYPE_AAAA, 16, "\40\1\15\270\0\0\0\0\0\0\0\0\0\0\0" },
	{ DNS_TYPE_CNAME, 19, "\5other\7example\3org" },
	{ DNS_TYPE_TXT, 4, "\3txt" },
	{ DNS_TYPE_MX, 7, "\0\12\3net\0" },
	{ DNS_TYPE_NS, 5, "\3net" },
};

static void add(struct dns_resp *r, struct arena *a, enum dns_section s, const struct kind *k,
		const char *owner, uint8_t last)
{
	uint8_t *rdata = arena_memdup(a, k->rdata, k->rdlen);
	if (k->type == DNS_TYPE_A || k->type == DNS_TYPE_AAAA)
		rdata[k->rdlen - 1] = last;
	if (k->type == DNS_TYPE_MX)
		rdata[1] = last;
	struct dns_rr rr = { .owner = (const uint8_t *)owner,
			     .type = k->type,
			     .cls = DNS_CLASS_IN,
			     .ttl = last,
			     .rdata = rdata,
			     .rdlen = k->rdlen };
	assert_int_equal(dns_resp_add(r, a, s, &rr), 0);
}

/* Half of the messages are as servers make them: a CNAME perhaps, then addresses of one type, in
 * one section or two; the others are anything. */
static void make_usual(struct dns_resp *r, struct arena *a, struct rng *rng)
{
	uint8_t last = 1;
	const struct kind *address = &kinds[rng_below(rng, 2)];
	bool alias = rng_below(rng, 2) == 0;
	if (alias)
		add(r, a, DNS_ANSWER, &kinds[2], owners[0], last++);
	for (unsigned i = rng_below(rng, 7); i > 0; i--)
		add(r, a, DNS_ANSWER, address, owners[alias], last++);
	for (unsigned i = rng_below(rng, 4); i > 0; i--)
		add(r, a, DNS_ADDITIONAL, address, owners[0], last++);
}

static void make_any(struct dns_resp *r, struct arena *a, struct rng *rng)
{
	uint8_t last = 1;
	for (int s = 0; s < DNS_SECTIONS; s++) {
		for (unsigned n = rng_below(rng, s == DNS_ANSWER ? 7 : 4); n > 0; n--)
			add(r, a, (enum dns_section)s, &kinds[rng_below(rng, ARRAY_LEN(kinds))],
			    owners[rng_below(rng, ARRAY_LEN(owners))], last++);
	}
}

static void make(struct dns_resp *r, struct arena *a, struct rng *rng)
{
	memset(r, 0, sizeof(*r));
	if (rng_below(rng, 2) == 0)
		make_usual(r, a, rng);
	else
		make_any(r, a, rng);
	r->has_opt = rng_below(rng, 2) == 0;
}

static void print(const struct dns_resp *r, struct strbuf *out)
{
	for (int s = 0; s < DNS_SECTIONS; s++) {
		DNS_RR_FOREACH(rr, r, s)
		{
			char owner[DNS_NAME_TEXT_MAX];
			dns_name_to_text(rr->owner, false, owner);
			strbuf_addf(out, "%d %s %u %u ", s, owner, rr->type, rr->ttl);
			for (size_t i = 0; i < rr->rdlen; i++)
				strbuf_addf(out, "%02x", rr->rdata[i]);
			strbuf_addc(out, '\n');
		}
	}
}

static void to_wire(struct dns_resp *open, struct dns_resp *wire, struct arena *a)
{
	uint8_t *msg = arena_alloc(a, MSG_MAX);
	struct dns_encode e = { .question = question,
				.question_len = QUESTION_LEN,
				.limit = MSG_MAX };
	int n = dns_resp_encode(open, &e, msg, MSG_MAX);
	assert_true(n > 0);
	assert_int_equal(dns_resp_from_wire(wire, a, msg, (size_t)n), 0);
}

typedef bool (*wire_fn)(const struct loadbalance_job *job,
			const struct loadbalance_weights *weights);
typedef void (*open_fn)(const struct loadbalance_job *job,
			const struct loadbalance_weights *weights);

static bool shuffle_wire(const struct loadbalance_job *j, const struct loadbalance_weights *w)
{
	(void)w;
	return loadbalance_shuffle_wire(j);
}

static void shuffle_open(const struct loadbalance_job *j, const struct loadbalance_weights *w)
{
	(void)w;
	loadbalance_shuffle(j);
}

static void compare(wire_fn in_place, open_fn opened, const struct loadbalance_weights *w)
{
	struct rng rng;
	unsigned n_done = 0;
	rng_init_seed(&rng, 7);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct arena a;
		struct dns_resp open, wire;
		struct rng first, second;
		CLEANUP(strbuf_done) struct strbuf want = STRBUF_INIT;
		CLEANUP(strbuf_done) struct strbuf got = STRBUF_INIT;
		arena_init(&a);
		make(&open, &a, &rng);
		to_wire(&open, &wire, &a);
		uint8_t *before = arena_memdup(&a, wire.msg, wire.msg_len);
		rng_init_seed(&first, i);
		rng_init_seed(&second, i);
		bool done = in_place(&(struct loadbalance_job){ &wire, &a, &first }, w);
		if (done) {
			opened(&(struct loadbalance_job){ &open, &a, &second }, w);
			assert_int_equal(dns_resp_thaw(&wire, &a), 0);
			print(&open, &want);
			print(&wire, &got);
			assert_string_equal(got.s, want.s);
		} else {
			assert_memory_equal(wire.msg, before, wire.msg_len);
		}
		assert_int_equal(rng_u64(&first), rng_u64(&second)); /* as many drawn */
		n_done += done;
		arena_done(&a);
	}
	assert_true(n_done > ROUNDS / 2 && n_done < ROUNDS);
}

static void same_as_open_by_chance(void **state)
{
	(void)state;
	compare(shuffle_wire, shuffle_open, NULL);
}

static void same_as_open_by_weight(void **state)
{
	static const char text[] = "www.example.org\n192.0.2.2 200\n192.0.2.3 7\n"
				   "other.example.org\n192.0.2.3 255\n2001:db8::5 9\n";
	struct loadbalance_weights *w;
	struct srcerr err = { 0 };
	(void)state;
	assert_int_equal(loadbalance_weights_parse("weights", slice_of(text), &w, &err), 0);
	compare(loadbalance_weigh_wire, loadbalance_weigh, w);
	compare(loadbalance_weigh_wire, loadbalance_weigh, NULL);
	loadbalance_weights_free(w);
}

#define HEADER(an, ar) "\0\1\200\0\0\1\0" an "\0\0\0" ar
#define Q	       "\3www\7example\3org\0\0\1\0\1"
#define A(owner, ip)   owner "\0\1\0\1\0\0\0\74\0\4" ip
#define OPT	       "\0\0\51\4\320\0\0\0\0\0\0"

static const struct {
	const char *what;
	bool in_place;
	const char *msg;
	size_t n;
} rows[] = {
#define ROW(what, ok, m)                   \
	{                                  \
		what, ok, m, sizeof(m) - 1 \
	}
	ROW("two addresses", true,
	    HEADER("\2", "\0") Q A("\300\14", "\1\2\3\4") A("\300\14", "\1\2\3\5")),
	ROW("with OPT", true,
	    HEADER("\2", "\1") Q A("\300\14", "\1\2\3\4") A("\300\14", "\1\2\3\5") OPT),
	ROW("owner not a pointer", false,
	    HEADER("\2", "\0") Q A("\3net\0", "\1\2\3\4") A("\3net\0", "\1\2\3\5")),
	ROW("an owner that leads to the other one", false,
	    HEADER("\2", "\0") Q A("\300\14", "\1\2\3\4") A("\300\41", "\1\2\3\5")),
	ROW("something behind leads there", false,
	    HEADER("\2", "\1") Q A("\300\14", "\1\2\3\4") A("\300\14", "\1\2\3\5")
		    A("\300\55", "\1\2\3\5")),
	ROW("something behind leads elsewhere", true,
	    HEADER("\2", "\1") Q A("\300\14", "\1\2\3\4") A("\300\14", "\1\2\3\5")
		    A("\300\20", "\1\2\3\5")),
	ROW("data of another length", false,
	    HEADER("\2", "\0") Q "\300\14\0\1\0\1\0\0\0\74\0\5\1\2\3\4\5"
				 "\300\14\0\1\0\1\0\0\0\74\0\5\1\2\3\4\5"),
	ROW("OPT between them", false,
	    HEADER("\0", "\3") Q A("\300\14", "\1\2\3\4") OPT A("\300\14", "\1\2\3\5")),
};

static void shapes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool moved = false;
		for (unsigned seed = 0; seed < 16; seed++) {
			struct arena a;
			struct dns_resp r;
			struct rng rng;
			arena_init(&a);
			rng_init_seed(&rng, seed);
			uint8_t *msg = arena_memdup(&a, rows[i].msg, rows[i].n);
			assert_int_equal(dns_resp_from_wire(&r, &a, msg, rows[i].n), 0);
			struct loadbalance_job j = { &r, &a, &rng };
			if (loadbalance_shuffle_wire(&j) != rows[i].in_place)
				fail_msg("%s", rows[i].what);
			moved |= memcmp(msg, rows[i].msg, rows[i].n) != 0;
			arena_done(&a);
		}
		assert_int_equal(moved, rows[i].in_place);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_open_by_chance),
		cmocka_unit_test(same_as_open_by_weight),
		cmocka_unit_test(shapes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
