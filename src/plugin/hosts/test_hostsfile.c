/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hosts files: what lines give, in which order, and what is passed over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "net/addr.h"
#include "plugin/hosts/hostsfile.h"

static struct hostsfile *parse(const char *text)
{
	struct hostsfile *h = NULL;
	struct hostsfile_opts o = { .reverse = true };
	assert_int_equal(hostsfile_parse(slice_of(text), &o, &h), 0);
	return h;
}

static void set_name(struct dns_qname *q, const char *name)
{
	uint8_t wire[DNS_NAME_MAX];
	assert_true(dns_name_from_text(slice_of(name), wire) > 0);
	dns_qname_set(q, wire);
}

static void put_ip(struct strbuf *b, const uint8_t ip[16])
{
	char text[NET_ADDR_TEXT_MAX];
	union net_addr a = { .v6 = { .sin6_family = AF_INET6 } };
	memcpy(&a.v6.sin6_addr, ip, 16);
	net_addr_unmap(&a);
	net_addr_ip_str(&a, text);
	strbuf_adds(b, text);
}

/* Addresses of a name, IPv4 before IPv6, each with a blank behind it. */
static const char *find(const struct hostsfile *h, const char *name)
{
	static struct strbuf out = STRBUF_INIT;
	struct dns_qname q;
	set_name(&q, name);
	strbuf_reset(&out);
	strbuf_adds(&out, "");
	for (int f = 0; f < 2; f++) {
		const struct hostsfile_addr *a = hostsfile_find(h, &q, (enum hostsfile_family)f);
		for (; a != NULL; a = hostsfile_next(h, a)) {
			put_ip(&out, a->ip);
			strbuf_addc(&out, ' ');
		}
	}
	return out.n == 0 ? "" : out.s;
}

/* Names of a reverse name, each with a blank behind it; "-" when it stands for no address. */
static const char *reverse(const struct hostsfile *h, const char *name)
{
	static struct strbuf out = STRBUF_INIT;
	struct dns_qname q;
	uint8_t ip[16];
	char text[DNS_NAME_TEXT_MAX];
	set_name(&q, name);
	strbuf_reset(&out);
	if (!hostsfile_reverse_ip(&q, ip))
		return "-";
	const struct hostsfile_name *n = hostsfile_reverse(h, ip);
	for (; n != NULL; n = hostsfile_next_name(h, n)) {
		dns_name_to_text(n->wire, false, text);
		strbuf_addf(&out, "%s ", text);
	}
	return out.n == 0 ? "" : out.s;
}

static void keeps_order_and_repeats(void **state)
{
	(void)state;
	struct hostsfile *h = parse("192.0.2.1 a.test B.test\n2001:db8::1 a.test\n"
				    "192.0.2.2 a.test\n192.0.2.1 a.test");
	assert_string_equal(find(h, "A.Test"), "192.0.2.1 192.0.2.2 192.0.2.1 2001:db8::1 ");
	assert_string_equal(find(h, "b.test"), "192.0.2.1 ");
	assert_string_equal(find(h, "test"), "");
	assert_string_equal(reverse(h, "1.2.0.192.in-addr.arpa"), "a.test. b.test. a.test. ");
	assert_string_equal(reverse(h, "9.2.0.192.in-addr.arpa"), "");
	assert_int_equal(hostsfile_entries(h), 10);
	hostsfile_free(h);
}

static void passes_over_what_is_no_entry(void **state)
{
	(void)state;
	struct hostsfile *h = parse("# all comment\n\n  \t\r\n192.0.2.1\nbogus a.test\n"
				    "192.0.2.300 a.test\n01.2.3.4 a.test\n"
				    "\t192.0.2.2\v a.test#glued\r\n"
				    "192.0.2.3 a..test c.test\nfe80::1%eth0 a.test\n"
				    "::ffff:192.0.2.4 a.test # b.test\n");
	assert_string_equal(find(h, "a.test"), "192.0.2.2 192.0.2.4 fe80::1 ");
	assert_string_equal(find(h, "b.test"), "");
	assert_string_equal(find(h, "c.test"), "192.0.2.3 ");
	hostsfile_free(h);
}

static void knows_wildcards_of_one_label(void **state)
{
	(void)state;
	struct hostsfile *h = parse("192.0.2.1 *.w.test\n2001:db8::1 x.w.test\n192.0.2.2 *\n");
	assert_string_equal(find(h, "a.w.test"), "192.0.2.1 ");
	assert_string_equal(find(h, "*.w.test"), "192.0.2.1 ");
	assert_string_equal(find(h, "x.w.test"), "192.0.2.1 2001:db8::1 ");
	assert_string_equal(find(h, "a.b.w.test"), "");
	assert_string_equal(find(h, "w.test"), "");
	assert_string_equal(find(h, "a"), "");
	assert_string_equal(find(h, "."), "");
	assert_string_equal(reverse(h, "1.2.0.192.in-addr.arpa"), "");
	hostsfile_free(h);
}

static void reads_reverse_names(void **state)
{
	(void)state;
#define TAIL "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"
	struct hostsfile *h = parse("2001:db8::a1 six.test\n192.0.2.1 four.test\n");
	assert_string_equal(reverse(h, "1.a." TAIL), "six.test. ");
	assert_string_equal(reverse(h, "1.A." TAIL), "six.test. ");
	assert_string_equal(reverse(h, "x.y.z.1.a." TAIL), "six.test. ");
	assert_string_equal(reverse(h, "w.x.y.z.1.a." TAIL), "-");
	assert_string_equal(reverse(h, "a." TAIL), "-");
	assert_string_equal(reverse(h, "g.a." TAIL), "-");
	assert_string_equal(reverse(h, "1.a\\.0." TAIL), "-");
	assert_string_equal(reverse(h, "x.1.2.0.192.in-addr.arpa"), "-");
	assert_string_equal(reverse(h, "2.0.192.in-addr.arpa"), "-");
	assert_string_equal(reverse(h, "01.2.0.192.in-addr.arpa"), "-");
	assert_string_equal(reverse(h, "256.2.0.192.in-addr.arpa"), "-");
	assert_string_equal(reverse(h, "::1.2.0.192.in-addr.arpa"), "-");
	assert_string_equal(reverse(h, "1.2.0.192.in-addr.test"), "-");
	assert_string_equal(reverse(h, "arpa"), "-");
	/* An IPv4 address in IPv6 dress is the same one. */
	assert_string_equal(reverse(h, "1.0.2.0.0.0.0.c.f.f.f.f.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0."
				       "0.0.0.ip6.arpa"),
			    "four.test. ");
	hostsfile_free(h);
}

struct seen {
	char text[128];
};

static void note_too_long(void *ctx, unsigned line, bool is_address)
{
	struct seen *s = ctx;
	size_t n = strlen(s->text);
	snprintf(s->text + n, sizeof(s->text) - n, "%u%s ", line, is_address ? "a" : "n");
}

static bool keep_test(void *ctx, const uint8_t *name)
{
	static const uint8_t zone[] = "\4test";
	(void)ctx;
	return dns_name_is_below(name, zone);
}

static void drops_long_fields(void **state)
{
	(void)state;
	char field[HOSTSFILE_FIELD_MAX + 2];
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct seen seen = { "" };
	struct hostsfile_opts o = { .keep = keep_test, .too_long = note_too_long, .ctx = &seen };
	struct hostsfile *h = NULL;
	memset(field, 'x', sizeof(field));
	field[sizeof(field) - 1] = '\0';
	strbuf_addf(&text, "192.0.2.1 %s a.test out.example\n%s b.test\nbogus %s\n192.0.2.2 %s\n",
		    field, field, field, field + 1);
	assert_int_equal(hostsfile_parse(strbuf_slice(&text), &o, &h), 0);
	assert_string_equal(seen.text, "1n 2a ");
	assert_string_equal(find(h, "a.test"), "192.0.2.1 ");
	assert_string_equal(find(h, "b.test"), "");
	assert_string_equal(find(h, "out.example"), "");
	assert_int_equal(hostsfile_entries(h), 1);
	hostsfile_free(h);
}

static void has_a_limit(void **state)
{
	(void)state;
	struct hostsfile *h = NULL;
	struct hostsfile_opts o = { 0 };
	assert_int_equal(hostsfile_parse((struct slice){ "", HOSTSFILE_BYTES_MAX + 1 }, &o, &h),
			 ERR_LIMIT);
	assert_null(h);
}

static void holds_many_names(void **state)
{
	(void)state;
	enum { MANY = 5000 };
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	char name[64], want[64];
	for (int i = 0; i < MANY; i++)
		strbuf_addf(&text, "10.0.%d.%d n%d.test\n", i / 256, i % 256, i);
	struct hostsfile *h = parse(text.s);
	for (int i = 0; i < MANY; i += 7) {
		snprintf(name, sizeof(name), "n%d.test", i);
		snprintf(want, sizeof(want), "10.0.%d.%d ", i / 256, i % 256);
		assert_string_equal(find(h, name), want);
		snprintf(name, sizeof(name), "%d.%d.0.10.in-addr.arpa", i % 256, i / 256);
		snprintf(want, sizeof(want), "n%d.test. ", i);
		assert_string_equal(reverse(h, name), want);
	}
	assert_int_equal(hostsfile_entries(h), 2 * MANY);
	hostsfile_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_order_and_repeats),
		cmocka_unit_test(passes_over_what_is_no_entry),
		cmocka_unit_test(knows_wildcards_of_one_label),
		cmocka_unit_test(reads_reverse_names),
		cmocka_unit_test(drops_long_fields),
		cmocka_unit_test(has_a_limit),
		cmocka_unit_test(holds_many_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
