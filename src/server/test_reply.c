/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From an outcome to bytes: the EDNS rules, truncation at every client size, large replies in
 * blocks of the pool, and a pool that is used up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "server/handler.h"
#include "server/query.h"
#include "server/server_state.h"
#include "server/setup.h"
#include "server/slab.h"
#include "server/waiting.h"
#include "server/worker.h"
#include "testing/fake_server.h"

/* What the plugin puts into its reply. */
static struct {
	unsigned records;
	size_t text_bytes; /* of each record */
	bool own_opt;
	uint16_t option_bytes;
	bool wire;     /* as an upstream's message */
	bool eat_pool; /* take all blocks before */
	uint16_t rcode;
	enum verdict verdict;
} made;

static const uint16_t echo[] = { 65001 };
static uint16_t wire_len_in_done;
static uint32_t full_size_in_done;
static bool written_in_done;

static int make_parse(struct plugin_inst *self, struct setup *s)
{
	(void)self;
	s->conf->edns_echo = echo;
	s->conf->n_edns_echo = 1;
	return 0;
}

static void add_records(struct query *q)
{
	static const uint8_t owner[] = "\4many\7records\4test";
	uint8_t *rdata = arena_alloc(&q->arena, 256);
	assert_non_null(rdata);
	memset(rdata, 'x', 256);
	rdata[0] = (uint8_t)(made.text_bytes - 1);
	for (unsigned i = 0; i < made.records; i++) {
		struct dns_rr rr = { .owner = i % 2 == 0 ? q->qname.wire : owner,
				     .type = DNS_TYPE_TXT,
				     .cls = DNS_CLASS_IN,
				     .ttl = i,
				     .rdata = rdata,
				     .rdlen = (uint16_t)made.text_bytes };
		assert_int_equal(dns_resp_add(&q->resp, &q->arena,
					      (enum dns_section)(i * 3 / made.records), &rr),
				 0);
	}
}

static void freeze(struct query *q)
{
	uint8_t *msg = arena_alloc(&q->arena, 60000);
	struct dns_encode e = { .question = q->question,
				.question_len = q->question_len,
				.limit = 60000 };
	assert_non_null(msg);
	int n = dns_resp_encode(&q->resp, &e, msg, 60000);
	assert_true(n > 0);
	assert_int_equal(dns_resp_from_wire(&q->resp, &q->arena, msg, (size_t)n), 0);
}

static enum verdict make_serve(struct plugin_inst *self, struct query *q)
{
	(void)self;
	if (made.verdict == V_FAIL)
		return query_fail(q, made.rcode, NULL);
	query_reply(q);
	q->resp.rcode = made.rcode;
	if (made.records != 0)
		add_records(q);
	if (made.own_opt) {
		q->resp.has_opt = true;
		q->resp.opt_udp_size = 4096;
		q->resp.opt_z = 0x123;
	}
	if (made.option_bytes != 0) {
		uint8_t *p = arena_calloc(&q->arena, made.option_bytes);
		assert_non_null(p);
		assert_int_equal(dns_resp_option(&q->resp, &q->arena, 12, p, made.option_bytes), 0);
	}
	if (made.wire)
		freeze(q);
	if (made.eat_pool) {
		struct mem_block *b;
		while ((b = slab_take_large(q->worker)) != NULL) {
			b->next = q->large;
			q->large = b;
			q->n_large++;
		}
	}
	return V_ANSWERED;
}

static void make_done(struct plugin_inst *self, struct query *q)
{
	(void)self;
	wire_len_in_done = q->wire_len;
	full_size_in_done = q->resp.full_size;
	written_in_done = q->written;
}

static const struct plugin make_plugin = {
	.name = "make", .parse = make_parse, .serve = make_serve, .done = make_done
};
const struct plugin *const plugin_list[] = { &make_plugin, NULL };

static struct fake *f;

static int start(void **state)
{
	(void)state;
	memset(&made, 0, sizeof(made));
	f = fake_new(". {\n make\n}\n");
	return f == NULL;
}

static int stop(void **state)
{
	(void)state;
	fake_free(f);
	return 0;
}

#define ASKED "question example.org. IN A\n"

/* ---- EDNS ---- */

static void opt_only_for_clients_with_opt(void **state)
{
	(void)state;
	assert_string_equal(fake_ask(f, &(struct fake_ask){ 0 }), "NOERROR qr rd\n" ASKED);
	assert_string_equal(fake_ask(f, &(struct fake_ask){ .udp_size = 1 }),
			    "NOERROR qr rd\n" ASKED "opt 1\n");
	assert_string_equal(fake_ask(f, &(struct fake_ask){ .udp_size = 65535, .dnssec_ok = true }),
			    "NOERROR qr rd\n" ASKED "opt 65535 do\n");
	made.verdict = V_FAIL;
	made.rcode = DNS_RCODE_REFUSED;
	assert_string_equal(fake_ask(f, &(struct fake_ask){ .udp_size = 1232 }),
			    "REFUSED qr rd\n" ASKED "opt 1232\n");
	assert_string_equal(fake_ask(f, &(struct fake_ask){ 0 }), "REFUSED qr rd\n" ASKED);
}

static void registered_options_come_back(void **state)
{
	static const uint8_t tlv[] = { 0, 10,  0,   8, 1, 2,   3,   4, 5, 6, 7,
				       8, 253, 233, 0, 2, 'h', 'i', 0, 3, 0, 0 };
	struct fake_ask a = { .udp_size = 1232, .options = tlv, .options_n = sizeof(tlv) };
	(void)state;
	assert_string_equal(fake_ask(f, &a), "NOERROR qr rd\n" ASKED "opt 1232 65001:6869\n");
	/* A reply with its own OPT keeps that one's options only. */
	made.own_opt = true;
	made.option_bytes = 2;
	assert_string_equal(fake_ask(f, &a), "NOERROR qr rd\n" ASKED "opt 1232 12:0000\n");
	a.dnssec_ok = true;
	assert_string_equal(fake_ask(f, &a), "NOERROR qr rd\n" ASKED "opt 1232 do 12:0000\n");
	size_t n;
	const uint8_t *w = fake_wire(f, &n);
	assert_memory_equal(w + n - 10, "\200\0\0\6\0\14\0\2", 6); /* no other Z bits */
}

static void own_opt_without_being_asked(void **state)
{
	(void)state;
	made.own_opt = true;
	assert_string_equal(fake_ask(f, &(struct fake_ask){ 0 }),
			    "NOERROR qr rd\n" ASKED "opt 4096\n");
}

static void client_bits_of_opt(void **state)
{
	uint8_t m[] = { 0x12, 0x34, 1, 0, 0, 1,	 0, 0,	 0, 0, 0,    1,	   0, 0,
			1,    0,    1, 0, 0, 41, 4, 208, 7, 0, 0xff, 0xff, 0, 0 };
	size_t n;
	(void)state;
	assert_string_equal(fake_ask(f, &(struct fake_ask){ .raw = m, .raw_n = sizeof(m) }),
			    "NOERROR qr rd\nquestion . IN A\nopt 1232 do\n");
	const uint8_t *w = fake_wire(f, &n);
	assert_int_equal(w[n - 6], 0); /* extended rcode cleared */
	assert_int_equal(w[n - 5], 0);
}

/* ---- size ---- */

static unsigned count(const char *text, const char *word)
{
	unsigned n = 0;
	for (; (text = strstr(text, word)) != NULL; text++)
		n++;
	return n;
}

/* At every size a client may give: it fits, parses, TC is set iff something was left off, and OPT
 * is kept. */
static void truncate_at_every_size(void)
{
	unsigned kept_before = 0;
	for (uint32_t size = 0; size < 65536; size += size < 2400 ? 1 : 997) {
		const char *text = fake_ask(f, &(struct fake_ask){ .udp_size = (uint16_t)size });
		size_t n, limit = MAX(size, 512U);
		assert_non_null(text);
		fake_wire(f, &n);
		assert_true(n <= limit);
		assert_int_equal(n, wire_len_in_done);
		unsigned kept = count(text, " TXT ");
		assert_int_equal(strstr(text, " tc") != NULL, kept < made.records);
		assert_int_equal(strstr(text, "\nopt ") != NULL, size != 0);
		assert_null(strstr(text, "MALFORMED"));
		if (size > 512)
			assert_true(kept >= kept_before);
		kept_before = kept;
	}
	assert_int_equal(kept_before, made.records);
}

static void truncates(void **state)
{
	(void)state;
	made.records = 60;
	made.text_bytes = 30;
	truncate_at_every_size();
	assert_int_equal(full_size_in_done, 12 + 17 + 30 * (13 + 40) + 30 * (19 + 40));
}

static void truncates_wire_forms(void **state)
{
	(void)state;
	made.records = 60;
	made.text_bytes = 30;
	made.wire = true;
	truncate_at_every_size();
}

static void truncates_large_replies(void **state)
{
	(void)state;
	made.records = 150;
	made.text_bytes = 250;
	truncate_at_every_size();
	assert_int_equal(fake_server(f)->worker[0].large.n_allocated > 0, true);
}

/* Without a block from the pool a large reply is cut to what fits without. */
static void pool_used_up(void **state)
{
	(void)state;
	made.records = 30;
	made.text_bytes = 200;
	made.eat_pool = true;
	for (int i = 0; i < 3; i++) {
		const char *text = fake_ask(f, &(struct fake_ask){ .udp_size = 65535 });
		size_t n;
		fake_wire(f, &n);
		assert_true(n <= WORKER_TX_BYTES && n > WORKER_TX_BYTES / 2);
		assert_non_null(strstr(text, " tc"));
		assert_non_null(strstr(text, "\nopt 65535\n"));
	}
	made.eat_pool = false;
	assert_int_equal(count(fake_ask(f, &(struct fake_ask){ .udp_size = 65535 }), " TXT "), 30);
}

/* Options that leave no room for the question: SERVFAIL, which always fits. */
static void too_large_an_opt(void **state)
{
	(void)state;
	made.option_bytes = 600;
	assert_string_equal(fake_ask(f, &(struct fake_ask){ .udp_size = 512 }),
			    "SERVFAIL qr rd\n" ASKED);
	made.option_bytes = 60000;
	assert_string_equal(fake_ask(f, &(struct fake_ask){ .udp_size = 1400 }),
			    "SERVFAIL qr rd\n" ASKED);
	const char *text = fake_ask(f, &(struct fake_ask){ .udp_size = 65535 });
	assert_non_null(strstr(text, "\nopt 65535 12:00"));
}

/* A batch of replies larger than the sending batch, some in blocks. */
static void waiting_crowd(void **state)
{
	(void)state;
	made.records = 20;
	made.text_bytes = 200;
	for (int i = 0; i < 200; i++) {
		const char *text = fake_ask(f, &(struct fake_ask){ .udp_size = 65535 });
		assert_int_equal(count(text, " TXT "), 20);
	}
	assert_true(fake_server(f)->worker[0].large.n_allocated <= 2);
}

static void names_as_asked(void **state)
{
	(void)state;
	made.records = 1;
	made.text_bytes = 3;
	assert_string_equal(fake_ask(f, &(struct fake_ask){ .name = "ExAmple.org" }),
			    "NOERROR qr rd\nquestion ExAmple.org. IN A\n"
			    "answer example.org. 0 IN TXT \"xx\"\n");
}

static void drop_is_not_written(void **state)
{
	(void)state;
	assert_non_null(fake_ask(f, &(struct fake_ask){ 0 }));
	assert_true(written_in_done);
	made.verdict = V_FAIL;
	made.rcode = DNS_RCODE_SERVFAIL;
	assert_non_null(fake_ask(f, &(struct fake_ask){ 0 }));
	assert_true(written_in_done);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, start, stop)
	const struct CMUnitTest tests[] = {
		T(opt_only_for_clients_with_opt),
		T(registered_options_come_back),
		T(own_opt_without_being_asked),
		T(client_bits_of_opt),
		T(truncates),
		T(truncates_wire_forms),
		T(truncates_large_replies),
		T(pool_used_up),
		T(too_large_an_opt),
		T(waiting_crowd),
		T(names_as_asked),
		T(drop_is_not_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
