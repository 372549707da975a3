/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scripted upstreams of scenarios, asked over plain sockets: what each word of a script does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/strbuf.h"
#include "base/err_text.h"
#include "dns/dump_test.h"
#include "dns/request.h"
#include "net/addr.h"
#include "upstream.h"

enum { MS = 1000000 };

/* A query for `name` (A) with id 7 and RD; `do_bit`: with an OPT. */
static size_t query(const char *name, bool do_bit, uint8_t *m)
{
	memset(m, 0, DNS_HEADER_BYTES);
	dns_put16(m, 7);
	dns_put16(m + 2, DNS_FLAG_RD);
	dns_put16(m + 4, 1);
	int n = dns_name_from_text(slice_of(name), m + DNS_HEADER_BYTES);
	assert_true(n > 0);
	size_t at = DNS_HEADER_BYTES + (size_t)n;
	dns_put16(m + at, 1);
	dns_put16(m + at + 2, 1);
	at += 4;
	if (do_bit) {
		static const uint8_t opt[DNS_OPT_BYTES] = { 0, 0, 41, 16, 0, 0, 0, 128, 0, 0, 0 };
		memcpy(m + at, opt, sizeof(opt));
		dns_put16(m + 10, 1);
		at += sizeof(opt);
	}
	return at;
}

static int socket_to(const struct upstreams *u, const char *name, int kind)
{
	union net_addr addr;
	assert_int_equal(net_addr_parse(slice_of(upstreams_address(u, slice_of(name))), &addr), 0);
	int fd = socket(AF_INET, kind | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	IGNORE(connect(fd, &addr.sa, net_addr_len(&addr)) != 0);
	return fd;
}

/* The next datagram as text, "" for none. */
static const char *receive(int fd, struct strbuf *text)
{
	uint8_t m[4096];
	ssize_t n = recv(fd, m, sizeof(m), 0);
	strbuf_reset(text);
	if (n >= 0 && dns_dump(m, (size_t)n, text) < 0)
		strbuf_addf(text, "%zd bytes, first %02x%02x", n, m[0], m[1]);
	return text->s;
}

static struct upstreams *with(const char *script)
{
	char why[256];
	struct upstreams *u = upstreams_new();
	assert_true(upstreams_set(u, "up", script, ERR_TEXT(why)));
	return u;
}

static void ask(int fd, const char *name, bool do_bit)
{
	uint8_t m[512];
	size_t n = query(name, do_bit, m);
	assert_int_equal(send(fd, m, n, 0), n);
}

static void test_words(void **state)
{
	static const struct {
		const char *script, *reply;
		bool do_bit;
	} rows[] = {
		{ "a.x. A\n answer {name} 60 IN A 192.0.2.1\n authority x. 9 IN NS ns.x.\n",
		  "NOERROR qr rd ra\nquestion A.x. IN A\nanswer A.x. 60 IN A 192.0.2.1\n"
		  "authority x. 9 IN NS ns.x.\n",
		  false },
		{ "", "REFUSED qr rd ra\nquestion A.x. IN A\n", false },
		{ "*.x. * ; rcode NXDOMAIN ; flags qr aa", "NXDOMAIN qr aa\nquestion A.x. IN A\n",
		  false },
		{ "a.x. A tcp ; rcode NOTIMP\na.x. A -do\n rcode YXDOMAIN\na.x. A do",
		  "NOERROR qr rd ra\nquestion A.x. IN A\nopt 1232 do\n", true },
		{ "a.x. A ; edns 900 do opt=10:abcd",
		  "NOERROR qr rd ra\nquestion A.x. IN A\nopt 900 do 10:abcd\n", false },
		{ "a.x. A ; noedns", "NOERROR qr rd ra\nquestion A.x. IN A\n", true },
		{ "a.x. A ; truncate ; answer a.x. 1 IN A 192.0.2.1",
		  "NOERROR qr tc rd ra\nquestion A.x. IN A\n", false },
		{ "a.x. A ; answer {name} 1 IN TXT \"{label} {type} {n} {transport}\"",
		  "NOERROR qr rd ra\nquestion A.x. IN A\nanswer A.x. 1 IN TXT \"A A 1 udp\"\n",
		  false },
		{ "a.x. A +cd\na.x. A -rd\na.x. A n=2..\na.x. A class=CH\na.x. AAAA\nb.x. A\n",
		  "REFUSED qr rd ra\nquestion A.x. IN A\n", false },
		{ "a.x. A ; question b.x. AAAA", "NOERROR qr rd ra\nquestion b.x. IN AAAA\n",
		  false },
		{ "a.x. A ; noquestion", "NOERROR qr rd ra\n", false },
		{ "a.x. A ; garbage 0102", "2 bytes, first 0102", false },
		{ "a.x. A ; raw 81:80", "4 bytes, first 0007", false },
		{ "a.x. A ; id 3 ; raw 81:80", "4 bytes, first 000a", false },
		{ "a.x. A ; drop", "", false },
	};
	(void)state;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct upstreams *u = with(rows[i].script);
		int fd = socket_to(u, "up", SOCK_DGRAM);
		ask(fd, "A.x.", rows[i].do_bit);
		upstreams_serve(u, 0);
		assert_null(upstreams_problem(u));
		assert_string_equal(receive(fd, &text), rows[i].reply);
		close(fd);
		upstreams_free(u);
	}
}

static void test_times_and_counts(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct upstreams *u =
		with("a.x. A n=1 ; rcode SERVFAIL ; and ; rcode NXDOMAIN ; delay 20ms\n"
		     "a.x. A n=2.. ; rcode NOTIMP ; delay 5ms");
	int fd = socket_to(u, "up", SOCK_DGRAM);
	ask(fd, "a.x.", false);
	ask(fd, "a.x.", false);
	assert_true(upstreams_serve(u, 0));
	assert_string_equal(receive(fd, &text), "SERVFAIL qr rd ra\nquestion a.x. IN A\n");
	assert_string_equal(receive(fd, &text), "");
	assert_int_equal(upstreams_due(u), 5 * MS);
	assert_true(upstreams_serve(u, 5 * MS));
	assert_string_equal(receive(fd, &text), "NOTIMP qr rd ra\nquestion a.x. IN A\n");
	assert_true(upstreams_serve(u, 30 * MS));
	assert_string_equal(receive(fd, &text), "NXDOMAIN qr rd ra\nquestion a.x. IN A\n");
	assert_int_equal(upstreams_due(u), UINT64_MAX);
	assert_false(upstreams_serve(u, 40 * MS));
	close(fd);
	upstreams_free(u);
}

static void test_what_was_asked(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct upstreams *u = with("");
	int fd = socket_to(u, "up", SOCK_DGRAM);
	ask(fd, "a.x.", false);
	ask(fd, "B.x.", true);
	upstreams_serve(u, 0);
	assert_true(upstreams_asked(u, "up", true, &text));
	assert_string_equal(text.s, "udp a.x. IN A rd\nudp B.x. IN A rd edns 4096 do\n");
	strbuf_reset(&text);
	assert_true(upstreams_asked(u, "up", true, &text));
	assert_string_equal(text.s, "");
	assert_false(upstreams_asked(u, "other", true, &text));
	close(fd);
	upstreams_free(u);
}

static void test_tcp(void **state)
{
	(void)state;
	struct upstreams *u = with("a.x. A tcp ; rcode NOTIMP\nb.x. A ; close");
	uint8_t m[512], reply[512];
	int fd = socket_to(u, "up", SOCK_STREAM);
	size_t n = query("a.x.", false, m + 2);
	dns_put16(m, (uint16_t)n);
	assert_int_equal(send(fd, m, n + 2, 0), n + 2);
	upstreams_serve(u, 0);
	assert_int_equal(recv(fd, reply, sizeof(reply), 0), n + 2);
	assert_int_equal(reply[5] & 15, 4);
	n = query("b.x.", false, m + 2);
	assert_int_equal(send(fd, m, n + 2, 0), n + 2);
	upstreams_serve(u, 0);
	assert_int_equal(recv(fd, reply, sizeof(reply), 0), 0);
	close(fd);
	upstreams_free(u);
}

static void test_stop_and_another_script(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	char why[256];
	struct upstreams *u = with("a.x. A");
	int fd = socket_to(u, "up", SOCK_DGRAM);
	assert_true(upstreams_set(u, "up", "a.x. A ; rcode NOTIMP", ERR_TEXT(why)));
	ask(fd, "a.x.", false);
	upstreams_serve(u, 0);
	assert_string_equal(receive(fd, &text), "NOTIMP qr rd ra\nquestion a.x. IN A\n");
	assert_true(upstreams_stop(u, "up"));
	assert_false(upstreams_stop(u, "other"));
	ask(fd, "a.x.", false);
	assert_false(upstreams_serve(u, 0));
	close(fd);
	upstreams_free(u);
}

static void test_wrong_scripts(void **state)
{
	static const char *const wrong[] = { " rcode NXDOMAIN", "a.x A",	 "a.x. A\n bogus",
					     "a.x. A n=x",	"a.x. A +zz",	 "a.x. A what",
					     "a.x. A n=1..x",	"a.x. A ; bogus" };
	(void)state;
	char why[256];
	struct upstreams *u = with("a.x. A ; answer nonsense\nb.x. A ; rcode NONE\nc.x. A ; raw 8");
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		assert_false(upstreams_set(u, "other", wrong[i], ERR_TEXT(why)));
		assert_non_null(strstr(why, "cannot read"));
	}
	int fd = socket_to(u, "up", SOCK_DGRAM);
	static const char *const names[] = { "a.x.", "b.x.", "c.x." };
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		ask(fd, names[i], false);
		upstreams_serve(u, 0);
		assert_non_null(upstreams_problem(u));
		assert_null(upstreams_problem(u));
	}
	close(fd);
	upstreams_free(u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_times_and_counts),
		cmocka_unit_test(test_what_was_asked),
		cmocka_unit_test(test_tcp),
		cmocka_unit_test(test_stop_and_another_script),
		cmocka_unit_test(test_wrong_scripts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
