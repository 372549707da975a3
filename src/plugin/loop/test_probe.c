/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The probe against a socket of the test's own, on a clock of the test's own. */
#include "plugin/loop/probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/clock_test.h"
#include "dns/types.h"

static uint64_t fake_now;

static uint64_t fake_mono(void)
{
	return fake_now;
}

static const struct clock_source fake_clock = { fake_mono, fake_mono };

static struct {
	struct loop *loop;
	int fd; /* of the server */
	struct loop_probe probe;
	unsigned n_answered, n_failed, last; /* the `last`-th is the last one */
} t;

static bool over(struct loop_probe *p, bool answered)
{
	assert_ptr_equal(p, &t.probe);
	t.n_answered += answered;
	t.n_failed += !answered;
	return t.n_answered + t.n_failed == t.last;
}

static int setup(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	clock_set_source(&fake_clock);
	fake_now = NS_PER_S;
	t.loop = loop_new();
	t.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t n = sizeof(t.probe.to);
	t.probe.to.v4 = (struct sockaddr_in){ .sin_family = AF_INET,
					      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_int_equal(bind(t.fd, &t.probe.to.sa, sizeof(t.probe.to.v4)), 0);
	assert_int_equal(getsockname(t.fd, &t.probe.to.sa, &n), 0);
	memcpy(t.probe.name, "\1a\0", 3);
	t.probe.qtype = DNS_TYPE_HINFO;
	t.probe.over = over;
	t.last = 100;
	loop_turn(t.loop, false);
	loop_probe_start(&t.probe, t.loop, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	loop_probe_stop(&t.probe);
	loop_free(t.loop);
	close(t.fd);
	clock_set_source(NULL);
	return 0;
}

static void advance(uint64_t ns)
{
	fake_now += ns;
	loop_turn(t.loop, false);
}

/* Takes the next question; its id. */
static uint16_t question(union net_addr *from)
{
	static const uint8_t want[] = { 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'a', 0, 0, 13, 0, 1 };
	uint8_t m[512];
	socklen_t n = sizeof(*from);
	ssize_t got = recvfrom(t.fd, m, sizeof(m), MSG_DONTWAIT, &from->sa, &n);
	assert_int_equal(got, 2 + sizeof(want));
	assert_memory_equal(m + 2, want, sizeof(want));
	return dns_get16(m);
}

static void reply(const union net_addr *to, uint16_t id, uint16_t flags, size_t n)
{
	uint8_t m[DNS_HEADER_BYTES] = { 0 };
	dns_put16(m, id);
	dns_put16(m + 2, flags);
	assert_int_equal(sendto(t.fd, m, n, 0, &to->sa, net_addr_len(to)), n);
	loop_turn(t.loop, false);
}

static void a_reply_ends_it(void **state)
{
	(void)state;
	union net_addr from;
	t.last = 1;
	advance(0);
	uint16_t id = question(&from);
	reply(&from, (uint16_t)(id + 1), DNS_FLAG_QR, DNS_HEADER_BYTES);
	reply(&from, id, 0, DNS_HEADER_BYTES);
	reply(&from, id, DNS_FLAG_QR, DNS_HEADER_BYTES - 1);
	assert_int_equal(t.n_answered + t.n_failed, 0);
	reply(&from, id, DNS_FLAG_QR, DNS_HEADER_BYTES);
	assert_int_equal(t.n_answered, 1);
	advance(60 * NS_PER_S);
	assert_int_equal(t.n_answered + t.n_failed, 1);
}

static void silence_is_asked_again(void **state)
{
	(void)state;
	union net_addr from;
	advance(0);
	uint16_t id = question(&from);
	advance(2 * NS_PER_S - 1);
	assert_int_equal(t.n_failed, 0);
	advance(1);
	assert_int_equal(t.n_failed, 1);
	advance(NS_PER_S - 1);
	assert_int_equal(recv(t.fd, &id, sizeof(id), MSG_DONTWAIT), -1);
	advance(1);
	id = question(&from);
	reply(&from, id, DNS_FLAG_QR, DNS_HEADER_BYTES);
	assert_int_equal(t.n_answered, 1);
	advance(NS_PER_S); /* not content: asked again all the same */
	question(&from);
}

static void nobody_there_is_known_at_once(void **state)
{
	(void)state;
	close(t.fd);
	t.fd = -1;
	t.last = 2;
	advance(0);
	loop_turn(t.loop, false); /* the refusal comes as an event */
	assert_int_equal(t.n_failed, 1);
	advance(NS_PER_S);
	loop_turn(t.loop, false);
	assert_int_equal(t.n_failed, 2);
	advance(60 * NS_PER_S);
	assert_int_equal(t.n_failed, 2);
}

static void no_way_there_is_a_failure(void **state)
{
	(void)state;
	t.probe.to.v4.sin_addr.s_addr = htonl(INADDR_BROADCAST); /* not allowed to ask it */
	advance(0);
	assert_int_equal(t.n_failed, 1);
}

static void stops_while_it_waits(void **state)
{
	(void)state;
	union net_addr from;
	advance(0);
	uint16_t id = question(&from);
	loop_probe_stop(&t.probe);
	reply(&from, id, DNS_FLAG_QR, DNS_HEADER_BYTES);
	advance(60 * NS_PER_S);
	assert_int_equal(t.n_answered + t.n_failed, 0);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_reply_ends_it),
		CASE(silence_is_asked_again),
		CASE(nobody_there_is_known_at_once),
		CASE(no_way_there_is_a_failure),
		CASE(stops_while_it_waits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
