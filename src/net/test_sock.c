/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sockets: dual stack, shared ports, and the address a datagram was sent to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "net/sock.h"

static union net_addr parse(const char *text)
{
	union net_addr a;
	assert_int_equal(net_addr_parse(slice_of(text), &a), 0);
	return a;
}

static union net_addr bound_to(int fd)
{
	union net_addr a = { 0 };
	socklen_t n = sizeof(a);
	assert_int_equal(getsockname(fd, &a.sa, &n), 0);
	return a;
}

static int sender(const char *from)
{
	union net_addr a = parse(from);
	int fd = socket(a.family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, &a.sa, net_addr_len(&a)), 0);
	return fd;
}

struct packet {
	struct mmsghdr h;
	struct iovec iov;
	union net_addr peer;
	unsigned char control[NET_PKTINFO_BYTES] CACHE_ALIGNED;
	char bytes[64];
};

static void receive(int fd, struct packet *p)
{
	struct pollfd w = { .fd = fd, .events = POLLIN };
	assert_int_equal(poll(&w, 1, 5000), 1);
	memset(p, 0, sizeof(*p));
	p->iov = (struct iovec){ p->bytes, sizeof(p->bytes) };
	p->h.msg_hdr = (struct msghdr){ .msg_name = &p->peer,
					.msg_namelen = sizeof(p->peer),
					.msg_iov = &p->iov,
					.msg_iovlen = 1,
					.msg_control = p->control,
					.msg_controllen = sizeof(p->control) };
	assert_int_equal(net_ops_kernel.recvmmsg(fd, &p->h, 1), 1);
}

/* A question to one address of a wildcard socket is answered from that address. */
static void ask_and_answer(const char *wildcard, const char *client, const char *asked)
{
	union net_addr w = parse(wildcard);
	int server = net_sock_udp(&w);
	assert_true(server >= 0);
	int fd = sender(client);
	union net_addr to = parse(asked), got = { 0 }, from = { 0 };
	union net_addr at = bound_to(server);
	net_addr_set_port(&to, net_addr_port(&at));
	assert_int_equal(sendto(fd, "hi", 2, 0, &to.sa, net_addr_len(&to)), 2);

	struct packet p;
	receive(server, &p);
	assert_int_equal(p.h.msg_len, 2);
	net_pktinfo_get(&p.h.msg_hdr, &got);
	assert_true(net_addr_same_ip(&got, &to));

	p.h.msg_hdr.msg_controllen = net_pktinfo_put(&got, p.control);
	p.iov.iov_len = 2;
	assert_int_equal(net_ops_kernel.sendmmsg(server, &p.h, 1), 1);
	socklen_t n = sizeof(from);
	char buf[8];
	struct pollfd w2 = { .fd = fd, .events = POLLIN };
	assert_int_equal(poll(&w2, 1, 5000), 1);
	assert_int_equal(recvfrom(fd, buf, sizeof(buf), 0, &from.sa, &n), 2);
	assert_true(net_addr_same_ip(&from, &to));
	assert_int_equal(net_addr_port(&from), net_addr_port(&at));
	close(fd);
	close(server);
}

static bool have_ipv6(void)
{
	union net_addr a = parse("[::1]:0");
	int fd = net_sock_udp(&a);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void test_answers_from_the_address_asked(void **state)
{
	(void)state;
	ask_and_answer("0.0.0.0:0", "127.0.0.1:0", "127.0.0.9:0");
	if (have_ipv6())
		ask_and_answer(":0", "[::1]:0", "[::1]:0");
}

static void test_ports_are_shared(void **state)
{
	(void)state;
	union net_addr a = parse("127.0.0.1:0");
	int one = net_sock_udp(&a);
	assert_true(one >= 0);
	a = bound_to(one);
	int two = net_sock_udp(&a);
	assert_true(two >= 0);
	close(one);
	close(two);
	a = parse("127.0.0.1:0");
	one = net_sock_tcp(&a, 16);
	assert_true(one >= 0);
	a = bound_to(one);
	two = net_sock_tcp(&a, 16);
	assert_true(two >= 0);
	close(one);
	close(two);
}

static void test_errors(void **state)
{
	(void)state;
	union net_addr a = parse("192.0.2.1:0"); /* not ours */
	assert_int_equal(net_sock_udp(&a), -EADDRNOTAVAIL);
	assert_int_equal(net_sock_tcp(&a, 16), -EADDRNOTAVAIL);
	/* In use by somebody who does not share. */
	int fd = sender("127.0.0.1:0");
	a = bound_to(fd);
	assert_int_equal(net_sock_udp(&a), -EADDRINUSE);
	close(fd);
	unsigned char buf[NET_PKTINFO_BYTES];
	a = (union net_addr){ 0 };
	assert_int_equal(net_pktinfo_put(&a, buf), 0);
}

/* The result for the port of a socket that was just closed. While it is open, its port is taken. */
static int try_after_close(int fd)
{
	union net_addr addr = bound_to(fd);
	assert_int_equal(net_sock_try(&addr), -EADDRINUSE);
	close(fd);
	return net_sock_try(&addr);
}

/* One who shares its port is found, of either kind. A port that was closed is free, unless another process got
 * it at that moment: of a few ports, one is. */
static void test_try(void **state)
{
	(void)state;
	union net_addr a = parse("127.0.0.1:0");
	int udp = -EADDRINUSE, tcp = -EADDRINUSE;
	for (int i = 0; i < 10 && udp == -EADDRINUSE; i++)
		udp = try_after_close(net_sock_udp(&a));
	assert_int_equal(udp, 0);
	for (int i = 0; i < 10 && tcp == -EADDRINUSE; i++)
		tcp = try_after_close(net_sock_tcp(&a, 16));
	assert_int_equal(tcp, 0);
	a = parse("192.0.2.1:0");
	assert_int_equal(net_sock_try(&a), -EADDRNOTAVAIL);
}

/* The sets of the calling process, or new ones. */
static void caps(long call, struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3])
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	assert_int_equal(syscall(call, &head, sets), 0);
}

/* What is permitted becomes effective, and nothing else; where it is not permitted nothing changes.
 */
static void test_low_ports(void **state)
{
	(void)state;
	struct __user_cap_data_struct had[_LINUX_CAPABILITY_U32S_3], sets[_LINUX_CAPABILITY_U32S_3];
	caps(SYS_capget, had);
	memcpy(sets, had, sizeof(sets));
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		sets[i].effective = 0;
	caps(SYS_capset, sets);
	for (int i = 0; i < 2; i++) { /* the second time there is nothing left to do */
		net_raise_low_ports();
		caps(SYS_capget, sets);
		assert_int_equal(sets[0].effective,
				 had[0].permitted & CAP_TO_MASK(CAP_NET_BIND_SERVICE));
		assert_int_equal(sets[0].permitted, had[0].permitted);
		assert_int_equal(sets[1].effective, 0);
	}
	caps(SYS_capset, had);
}

/* Sockets that may share a port are no reason to draw it. */
static void test_draw(void **state)
{
	(void)state;
	enum { SERVERS = 800 };
	static int fds[SERVERS];
	static bool is_used[UINT16_MAX + 1];
	assert_true(net_raise_file_limit() > SERVERS + 64);
	for (size_t i = 0; i < SERVERS; i++) {
		union net_addr addr = parse("127.0.0.1:0");
		assert_int_equal(net_sock_draw(&addr), 0);
		assert_int_not_equal(net_addr_port(&addr), 0);
		assert_false(is_used[net_addr_port(&addr)]);
		fds[i] = i % 2 == 0 ? net_sock_udp(&addr) : net_sock_tcp(&addr, 1);
		/* Another program may have taken it in the moment between. */
		assert_true(fds[i] >= 0 || fds[i] == -EADDRINUSE);
		is_used[net_addr_port(&addr)] = fds[i] >= 0;
	}
	for (size_t i = 0; i < SERVERS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_from_the_address_asked),
		cmocka_unit_test(test_ports_are_shared),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_try),
		cmocka_unit_test(test_draw),
		cmocka_unit_test(test_low_ports),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
