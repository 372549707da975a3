/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing responses: compression, truncation at every size, OPT, wire form under another question.
 * What is written is read back by dns_dump. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "dns/dump_test.h"
#include "dns/resp.h"
#include "dns/test_names.h"

static struct arena arena;

static int setup(void **state)
{
	(void)state;
	arena_init(&arena);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

static const uint8_t *wire(const char *text)
{
	uint8_t b[DNS_NAME_MAX];
	int n = dns_name_from_text(slice_of(text), b);
	assert_true(n > 0);
	return arena_memdup(&arena, b, (size_t)n);
}

static struct dns_encode question(const char *name, size_t limit)
{
	uint8_t *p = arena_alloc(&arena, DNS_NAME_MAX + 4);
	struct dns_qname *q = arena_alloc(&arena, sizeof(*q));
	size_t n = (size_t)dns_name_from_text(slice_of(name), p);
	dns_qname_set(q, p);
	dns_put16(p + n, DNS_TYPE_A);
	dns_put16(p + n + 2, DNS_CLASS_IN);
	return (struct dns_encode){ .id = 0x1234,
				    .question = p,
				    .question_len = (uint16_t)(n + 4),
				    .qname = q,
				    .limit = limit };
}

static void add(struct dns_resp *r, enum dns_section s, const char *owner, uint16_t type,
		const void *rdata, size_t n)
{
	struct dns_rr rr = { .owner = wire(owner),
			     .type = type,
			     .cls = DNS_CLASS_IN,
			     .ttl = 60,
			     .rdata = rdata,
			     .rdlen = (uint16_t)n };
	assert_int_equal(dns_resp_add(r, &arena, s, &rr), 0);
}

static void add_name(struct dns_resp *r, enum dns_section s, const char *owner, uint16_t type,
		     const char *target)
{
	const uint8_t *w = wire(target);
	add(r, s, owner, type, w, dns_name_len(w));
}

static const struct dns_request plain = { .flags = DNS_FLAG_RD };

/* Encodes into a buffer of exactly `cap` bytes (a sanitizer watches its end); text of the result.
 */
static uint8_t *bytes;
static int n_bytes;

static const char *encode_cap(struct dns_resp *r, const struct dns_encode *e, size_t cap)
{
	static struct strbuf out;
	free(bytes);
	bytes = xmalloc(cap + 1);
	n_bytes = dns_resp_encode(r, e, bytes, cap);
	if (n_bytes < 0)
		return err_str(n_bytes);
	assert_true((size_t)n_bytes <= cap && (size_t)n_bytes <= e->limit);
	strbuf_reset(&out);
	assert_int_equal(dns_dump(bytes, (size_t)n_bytes, &out), 0);
	static char copy[200000];
	snprintf(copy, sizeof(copy), "%s", out.s);
	strbuf_done(&out);
	strbuf_init(&out);
	return copy;
}

static const char *encode(struct dns_resp *r, const struct dns_encode *e)
{
	return encode_cap(r, e, 65535);
}

static void test_compresses(void **state)
{
	struct dns_resp r;
	struct dns_encode e = question("www.example.org", 512);
	(void)state;
	dns_resp_reply(&r, &plain);
	add_name(&r, DNS_ANSWER, "www.example.org", DNS_TYPE_CNAME, "host.example.org");
	add(&r, DNS_ANSWER, "host.example.org", DNS_TYPE_A, "\300\0\2\1", 4);
	add_name(&r, DNS_AUTHORITY, "example.org", DNS_TYPE_NS, "ns.example.org");
	add(&r, DNS_ADDITIONAL, "ns.example.org", DNS_TYPE_A, "\300\0\2\2", 4);
	assert_string_equal(encode(&r, &e),
			    "NOERROR qr rd\n"
			    "question www.example.org. IN A\n"
			    "answer www.example.org. 60 IN CNAME host.example.org.\n"
			    "answer host.example.org. 60 IN A 192.0.2.1\n"
			    "authority example.org. 60 IN NS ns.example.org.\n"
			    "additional ns.example.org. 60 IN A 192.0.2.2\n");
	/* 12 + 21; 2+10+7; 2+10+4; 2+10+5; 2+10+4 */
	assert_int_equal(n_bytes, 12 + 21 + 19 + 16 + 17 + 16);
}

/* The longest names as question, owner and target, at every size. */
static void test_longest_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < (size_t)LONGEST_NAMES * LONGEST_NAMES; i++) {
		const char *name = longest_names[i % LONGEST_NAMES];
		const char *other = longest_names[i / LONGEST_NAMES];
		struct dns_encode e = question(name, 65535);
		for (size_t cap = DNS_HEADER_BYTES; cap < 1100; cap += 7) {
			struct dns_resp r;
			dns_resp_reply(&r, &plain);
			add_name(&r, DNS_ANSWER, name, DNS_TYPE_CNAME, other);
			add_name(&r, DNS_ANSWER, other, DNS_TYPE_NS, name);
			assert_non_null(encode_cap(&r, &e, cap));
		}
		assert_int_equal(e.question_len, longest_name_octets(i) + 4);
		struct dns_resp back;
		assert_int_equal(dns_resp_from_wire(&back, &arena, bytes, (size_t)n_bytes), 0);
		assert_int_equal(dns_resp_thaw(&back, &arena), 0);
		assert_int_equal(back.count[DNS_ANSWER], 2);
		assert_int_equal(back.first[DNS_ANSWER]->rdlen, dns_name_len(wire(other)));
		assert_int_equal(back.last[DNS_ANSWER]->owner_len, dns_name_len(wire(other)));
	}
}

static void test_names_that_must_stay_whole(void **state)
{
	struct dns_resp r;
	struct dns_encode e = question("example.org", 512);
	uint8_t srv[64] = { 0, 0, 0, 0, 0, 53 };
	const uint8_t *target = wire("a.example.org");
	(void)state;
	memcpy(srv + 6, target, dns_name_len(target));
	dns_resp_reply(&r, &plain);
	add(&r, DNS_ANSWER, "example.org", DNS_TYPE_SRV, srv, 6 + dns_name_len(target));
	add_name(&r, DNS_ANSWER, "example.org", DNS_TYPE_DNAME, "b.example.org");
	encode(&r, &e);
	assert_int_equal(n_bytes, 12 + 17 + (12 + 6 + 15) + (12 + 15));
	/* The owner of its address points into it. */
	add(&r, DNS_ADDITIONAL, "a.example.org", DNS_TYPE_A, "\300\0\2\2", 4);
	encode(&r, &e);
	assert_int_equal(n_bytes, 12 + 17 + (12 + 6 + 15) + (12 + 15) + (12 + 4));
}

static void test_case_of_names_is_kept(void **state)
{
	struct dns_resp r;
	struct dns_encode e = question("Example.ORG", 512);
	(void)state;
	dns_resp_reply(&r, &plain);
	add_name(&r, DNS_ANSWER, "example.org", DNS_TYPE_CNAME, "x.Example.ORG");
	add_name(&r, DNS_ANSWER, "Example.ORG", DNS_TYPE_CNAME, "y.eXample.org");
	assert_string_equal(encode(&r, &e), "NOERROR qr rd\n"
					    "question Example.ORG. IN A\n"
					    "answer example.org. 60 IN CNAME x.Example.ORG.\n"
					    "answer Example.ORG. 60 IN CNAME y.eXample.org.\n");
}

static void fill(struct dns_resp *r, bool opt)
{
	char owner[64];
	dns_resp_reply(r, &plain);
	for (int i = 0; i < 6; i++) {
		snprintf(owner, sizeof(owner), "h%d.example.org", i);
		add_name(r, DNS_ANSWER, "www.example.org", DNS_TYPE_CNAME, owner);
		add(r, DNS_ANSWER, owner, DNS_TYPE_A, "\300\0\2\1", 4);
	}
	for (int i = 0; i < 4; i++) {
		snprintf(owner, sizeof(owner), "ns%d.other%d.net", i, i);
		add_name(r, DNS_AUTHORITY, "example.org", DNS_TYPE_NS, owner);
		add(r, DNS_ADDITIONAL, owner, DNS_TYPE_A, "\300\0\2\1", 4);
	}
	if (opt) {
		assert_int_equal(dns_resp_option(r, &arena, 10, "cookiecookie", 12), 0);
		r->opt_do = true;
	}
}

static unsigned lines(const char *text, const char *word)
{
	unsigned n = 0;
	for (const char *p = text; (p = strstr(p, word)) != NULL; p++)
		n++;
	return n;
}

static bool starts_alike(const char *cut, const char *whole)
{
	/* Every record of the cut text is in the whole one, in its order. */
	const char *at = strstr(whole, "\nquestion");
	for (const char *l = strstr(cut, "\nquestion"); l != NULL; l = strchr(l + 1, '\n')) {
		const char *end = strchr(l + 1, '\n');
		if (end == NULL)
			return true;
		char line[512];
		snprintf(line, sizeof(line), "%.*s", (int)(end - l + 1), l);
		at = strstr(at, line);
		if (at == NULL)
			return false;
		at += end - l - 1;
	}
	return true;
}

/* At every limit: fits, parses, TC iff something was left off, records in order, OPT kept. */
static void truncate_everywhere(bool opt)
{
	struct dns_resp r;
	struct dns_encode e = question("www.example.org", 65535);
	fill(&r, opt);
	char whole[8192];
	snprintf(whole, sizeof(whole), "%s", encode(&r, &e));
	size_t full = (size_t)n_bytes;
	size_t least = 12U + e.question_len + (opt ? 11 + 16 : 0);
	unsigned before = 0;
	assert_int_equal(lines(whole, "60 IN"), 20);
	for (size_t limit = 0; limit <= full + 2; limit++) {
		e.limit = limit;
		/* The buffer's end does the same as the client's limit. */
		size_t cap = limit % 2 != 0 ? 65535 : limit;
		if (limit % 2 == 0)
			e.limit = 65535;
		r.flags &= (uint16_t)~DNS_FLAG_TC; /* a cut reply keeps it */
		const char *got = encode_cap(&r, &e, cap);
		if (limit < least) {
			assert_int_equal(n_bytes, ERR_SPACE);
			continue;
		}
		assert_true((size_t)n_bytes <= limit);
		unsigned kept = lines(got, "60 IN");
		assert_int_equal(strstr(got, " tc") != NULL, kept < 20);
		assert_int_equal(limit >= full, kept == 20);
		assert_int_equal(strstr(got, "opt 4096 do 10:") != NULL, opt);
		assert_true(kept >= before);
		before = kept;
		assert_true(starts_alike(got, whole));
	}
}

static void test_truncates_everywhere(void **state)
{
	(void)state;
	truncate_everywhere(false);
	truncate_everywhere(true);
}

static void test_many_names(void **state)
{
	struct dns_resp r;
	struct dns_encode e = question("example.org", 65535);
	static char big[200000];
	char owner[80];
	(void)state;
	dns_resp_reply(&r, &plain);
	/* More names than are remembered, beyond the reach of pointers (16 KB). */
	for (unsigned i = 0; i < 1500; i++) {
		snprintf(owner, sizeof(owner), "n%u.zone%u.example.org", i, i % 300);
		add(&r, DNS_ANSWER, owner, DNS_TYPE_A, "\300\0\2\1", 4);
	}
	snprintf(big, sizeof(big), "%s", encode(&r, &e));
	assert_int_equal(lines(big, "60 IN A"), 1500);
	for (unsigned i = 0; i < 1500; i += 7) {
		snprintf(owner, sizeof(owner), "answer n%u.zone%u.example.org. 60", i, i % 300);
		assert_non_null(strstr(big, owner));
	}
	assert_null(strstr(big, " tc"));
}

static void test_root_and_no_question(void **state)
{
	struct dns_resp r;
	struct dns_encode e = question(".", 512);
	(void)state;
	dns_resp_reply(&r, &plain);
	add_name(&r, DNS_ANSWER, ".", DNS_TYPE_NS, ".");
	add_name(&r, DNS_ANSWER, ".", DNS_TYPE_NS, "a.root");
	assert_string_equal(encode(&r, &e), "NOERROR qr rd\n"
					    "question . IN A\n"
					    "answer . 60 IN NS .\n"
					    "answer . 60 IN NS a.root.\n");
	e = (struct dns_encode){ .limit = 512 };
	assert_string_equal(encode(&r, &e), "NOERROR qr rd\n"
					    "answer . 60 IN NS .\n"
					    "answer . 60 IN NS a.root.\n");
}

/* Not a record that does not fit: nothing is cut. */
static void test_records_without_data(void **state)
{
	static const uint16_t types[] = { DNS_TYPE_A, DNS_TYPE_NS, DNS_TYPE_SOA, DNS_TYPE_MX };
	struct dns_resp r;
	struct dns_encode e = question("example.org", 512);
	(void)state;
	dns_resp_reply(&r, &plain);
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		add(&r, DNS_ANSWER, "example.org", types[i], "", 0);
	assert_null(strstr(encode(&r, &e), " tc"));
	assert_int_equal(n_bytes, 12 + 17 + 4 * 12);
}

static void test_extended_rcode(void **state)
{
	struct dns_resp r;
	struct dns_encode e = question("example.org", 512);
	(void)state;
	dns_resp_reply(&r, &plain);
	r.rcode = DNS_RCODE_BADVERS;
	r.has_opt = true;
	assert_string_equal(encode(&r, &e), "BADSIG qr rd\nquestion example.org. IN A\nopt 0\n");
	r.rcode = 0xabc;
	r.opt_udp_size = 1232;
	assert_string_equal(encode(&r, &e), "2748 qr rd\nquestion example.org. IN A\nopt 1232\n");
}

/* ---- wire form ---- */

static struct dns_resp wire_answer(const char *name)
{
	struct dns_resp r, w;
	struct dns_encode e = question(name, 65535);
	dns_resp_reply(&r, &plain);
	add(&r, DNS_ANSWER, name, DNS_TYPE_A, "\300\0\2\1", 4);
	assert_int_equal(dns_resp_option(&r, &arena, 3, "ns", 2), 0);
	encode(&r, &e);
	uint8_t *copy = arena_memdup(&arena, bytes, (size_t)n_bytes);
	assert_int_equal(dns_resp_from_wire(&w, &arena, copy, (size_t)n_bytes), 0);
	return w;
}

static void test_wire_goes_through_unchanged(void **state)
{
	(void)state;
	struct dns_resp w = wire_answer("www.example.org");
	struct dns_encode e = question("www.Example.org", 512);
	e.id = 0x4321;
	/* The question's case is the client's; the owner points to it. */
	assert_string_equal(encode(&w, &e), "NOERROR qr rd\n"
					    "question www.Example.org. IN A\n"
					    "answer www.Example.org. 60 IN A 192.0.2.1\n"
					    "opt 4096 3:6e73\n");
	assert_int_equal(dns_get16(bytes), 0x4321);
	assert_non_null(w.msg);
}

/* A question of the same length but another name: pointers into it would rename the records. */
/* With body_at the records are not walked; the same conditions hold. */
static void test_wire_with_known_body(void **state)
{
	(void)state;
	static const struct {
		const char *question;
		size_t limit;
		bool fits;
	} rows[] = {
		{ "www.example.org", 512, true },  { "WWW.example.ORG", 512, true },
		{ "xxx.example.org", 512, false }, { "w.example.org", 512, false },
		{ "www.example.org", 40, false },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dns_resp w = wire_answer("www.example.org");
		struct dns_encode e = question(rows[i].question, rows[i].limit);
		w.has_opt = false;
		w.msg_len -= DNS_OPT_BYTES + w.options_len;
		CLEANUP(strbuf_done) struct strbuf walked = STRBUF_INIT;
		strbuf_adds(&walked, encode(&w, &e));
		w.body_at = DNS_HEADER_BYTES + 17 + 4;
		assert_string_equal(encode(&w, &e), walked.s);
		assert_int_equal(n_bytes > 0, rows[i].fits);
	}
}

static void test_wire_under_another_question_is_opened(void **state)
{
	static const char *const names[] = { "abc.example.org", "abcd.example.org", "x.org" };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct dns_resp w = wire_answer("www.example.org");
		struct dns_encode e = question(names[i], 512);
		char want[200];
		assert_string_equal(encode(&w, &e), err_str(ERR_SPACE));
		assert_int_equal(dns_resp_thaw(&w, &arena), 0);
		snprintf(want, sizeof(want),
			 "NOERROR qr rd\nquestion %s. IN A\n"
			 "answer www.example.org. 60 IN A 192.0.2.1\nopt 4096 3:6e73\n",
			 names[i]);
		assert_string_equal(encode(&w, &e), want);
	}
}

static void test_wire_that_does_not_fit_is_opened(void **state)
{
	(void)state;
	struct dns_resp w = wire_answer("www.example.org");
	struct dns_encode e = question("www.example.org", 0);
	for (e.limit = 0; e.limit < 12 + 21 + 16 + 17; e.limit++) {
		encode(&w, &e);
		assert_int_equal(n_bytes, ERR_SPACE);
	}
	encode(&w, &e);
	assert_int_equal(n_bytes, 12 + 21 + 16 + 17);
}

static void test_wire_with_opt_in_the_middle(void **state)
{
	static const uint8_t msg[] = "\0\0\204\0\0\1\0\0\0\0\0\2\1a\0\0\1\0\1"
				     "\0\0\51\4\320\0\0\0\0\0\0"
				     "\300\14\0\1\0\1\0\0\0\74\0\4\300\0\2\1";
	struct dns_resp w;
	struct dns_encode e = question("a", 512);
	(void)state;
	uint8_t *copy = arena_memdup(&arena, msg, sizeof(msg) - 1);
	assert_int_equal(dns_resp_from_wire(&w, &arena, copy, sizeof(msg) - 1), 0);
	assert_int_equal(w.count[DNS_ADDITIONAL], 1);
	encode(&w, &e);
	assert_int_equal(n_bytes, ERR_SPACE);
	assert_int_equal(dns_resp_thaw(&w, &arena), 0);
	assert_string_equal(encode(&w, &e), "NOERROR qr aa\n"
					    "question a. IN A\n"
					    "additional a. 60 IN A 192.0.2.1\n"
					    "opt 1232\n");
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_compresses),
		T(test_longest_names),
		T(test_names_that_must_stay_whole),
		T(test_case_of_names_is_kept),
		T(test_truncates_everywhere),
		T(test_many_names),
		T(test_root_and_no_question),
		T(test_records_without_data),
		T(test_extended_rcode),
		T(test_wire_goes_through_unchanged),
		T(test_wire_with_known_body),
		T(test_wire_under_another_question_is_opened),
		T(test_wire_that_does_not_fit_is_opened),
		T(test_wire_with_opt_in_the_middle),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);
	free(bytes);
	return r;
}
