/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens the sockets of the DNS server, and reads the local address a datagram was sent to. */
#include "net/sock.h"

#include <errno.h>
#include <linux/capability.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int set_int(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) == 0 ? 0 : -errno;
}

static int open_bound(const union net_addr *addr, int type, bool dual_stack)
{
	int fd = socket(addr->family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	int r = set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (r == 0 && type == SOCK_STREAM)
		r = set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (r == 0 && addr->family == AF_INET6)
		r = set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, !dual_stack);
	if (r == 0 && bind(fd, &addr->sa, net_addr_len(addr)) < 0)
		r = -errno;
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

static bool is_wild6(const union net_addr *addr)
{
	return addr->family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&addr->v6.sin6_addr);
}

static bool is_without_ipv6(int error)
{
	return error == -EAFNOSUPPORT || error == -EADDRNOTAVAIL;
}

/* All addresses of both families where the machine has both. */
static int open_any(const union net_addr *addr, int type)
{
	bool wild6 = is_wild6(addr);
	int fd = open_bound(addr, type, wild6);
	if (wild6 && is_without_ipv6(fd)) {
		union net_addr v4 = { .v4 = { .sin_family = AF_INET } };
		net_addr_set_port(&v4, net_addr_port(addr));
		fd = open_bound(&v4, type, false);
	}
	return fd;
}

int net_sock_udp(const union net_addr *addr)
{
	int fd = open_bound(addr, SOCK_DGRAM, false);
	if (fd < 0)
		return fd;
	/* A socket of one family takes the other's option or refuses it; both are right. */
	IGNORE(set_int(fd, IPPROTO_IP, IP_PKTINFO, 1) < 0);
	IGNORE(set_int(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) < 0);
	/* Bursts while a worker is busy; the kernel caps it by net.core.rmem_max. */
	IGNORE(set_int(fd, SOL_SOCKET, SO_RCVBUF, 1 << 20) < 0);
	/* RFC 8085, and against fragmentation attacks: never fragment by path MTU discovery. */
	IGNORE(set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_OMIT) < 0);
	return fd;
}

int net_sock_tcp(const union net_addr *addr, int backlog)
{
	int fd = open_any(addr, SOCK_STREAM);
	if (fd < 0)
		return fd;
	IGNORE(set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1) < 0); /* inherited; only a speed-up */
	if (listen(fd, backlog) < 0) {
		int r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

/* A socket that shares its address with no other. */
static int open_alone(const union net_addr *addr, int type)
{
	int fd = socket(addr->family, type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* Connections of a server that has ended do not count. */
	int r = type == SOCK_STREAM ? set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1) : 0;
	if (r == 0 && bind(fd, &addr->sa, net_addr_len(addr)) < 0)
		r = -errno;
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}

static int try_alone(const union net_addr *addr, int type)
{
	int fd = open_alone(addr, type);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int net_sock_try(const union net_addr *addr)
{
	int r = try_alone(addr, SOCK_DGRAM);
	return r < 0 ? r : try_alone(addr, SOCK_STREAM);
}

/* One draw: -EADDRINUSE when TCP has the port that UDP got. */
static int draw_once(union net_addr *addr)
{
	union net_addr got = { 0 };
	socklen_t len = sizeof(got);
	net_addr_set_port(addr, 0);
	int fd = open_alone(addr, SOCK_DGRAM);
	if (fd < 0)
		return fd;
	int r = getsockname(fd, &got.sa, &len) == 0 ? 0 : -errno;
	net_addr_set_port(addr, net_addr_port(&got));
	if (r == 0)
		r = try_alone(addr, SOCK_STREAM);
	close(fd);
	return r;
}

int net_sock_draw(union net_addr *addr)
{
	enum { DRAWS = 64 };
	int r = -EADDRINUSE;
	for (int draw = 0; draw < DRAWS && r == -EADDRINUSE; draw++)
		r = draw_once(addr);
	if (r < 0 && is_wild6(addr) && is_without_ipv6(r)) {
		union net_addr v4 = { .v4 = { .sin_family = AF_INET } };
		r = net_sock_draw(&v4);
		net_addr_set_port(addr, net_addr_port(&v4));
	}
	return r;
}

unsigned long net_raise_file_limit(void)
{
	struct rlimit l;
	if (getrlimit(RLIMIT_NOFILE, &l) != 0)
		return 0;
	if (l.rlim_cur < l.rlim_max) {
		rlim_t before = l.rlim_cur;
		l.rlim_cur = l.rlim_max;
		if (setrlimit(RLIMIT_NOFILE, &l) != 0)
			l.rlim_cur = before;
	}
	return (unsigned long)l.rlim_cur;
}

void net_raise_low_ports(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = { 0 };
	const uint32_t bit = CAP_TO_MASK(CAP_NET_BIND_SERVICE);
	if (syscall(SYS_capget, &head, sets) != 0 ||
	    (sets[0].permitted & ~sets[0].effective & bit) == 0)
		return;
	sets[0].effective |= bit;
	/* What is permitted may be taken up: this cannot fail, and if it does, bind() says so. */
	(void)!syscall(SYS_capset, &head, sets);
}

static int kernel_recvmmsg(int fd, struct mmsghdr *msgs, unsigned count)
{
	return recvmmsg(fd, msgs, count, MSG_DONTWAIT, NULL);
}

static int kernel_sendmmsg(int fd, struct mmsghdr *msgs, unsigned count)
{
	return sendmmsg(fd, msgs, count, MSG_DONTWAIT);
}

const struct net_ops net_ops_kernel = { kernel_recvmmsg, kernel_sendmmsg };

void net_pktinfo_get(struct msghdr *msg, union net_addr *ret)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo i;
			memcpy(&i, CMSG_DATA(c), sizeof(i));
			ret->v4.sin_family = AF_INET;
			ret->v4.sin_addr = i.ipi_addr;
			return;
		}
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
			struct in6_pktinfo i;
			memcpy(&i, CMSG_DATA(c), sizeof(i));
			ret->v6.sin6_family = AF_INET6;
			ret->v6.sin6_addr = i.ipi6_addr;
			ret->v6.sin6_flowinfo = 0;
			ret->v6.sin6_scope_id =
				IN6_IS_ADDR_LINKLOCAL(&i.ipi6_addr) ? i.ipi6_ifindex : 0;
			return;
		}
	}
}

static size_t put_cmsg(unsigned char *buf, int level, int type, const void *data, size_t len)
{
	struct cmsghdr c = { .cmsg_len = CMSG_LEN(len), .cmsg_level = level, .cmsg_type = type };
	memset(buf, 0, CMSG_SPACE(len));
	memcpy(buf, &c, sizeof(c));
	memcpy(buf + CMSG_LEN(0), data, len);
	return CMSG_SPACE(len);
}

size_t net_pktinfo_put(const union net_addr *local, unsigned char buf[NET_PKTINFO_BYTES])
{
	if (local->family == AF_INET) {
		struct in_pktinfo i = { .ipi_spec_dst = local->v4.sin_addr };
		return put_cmsg(buf, IPPROTO_IP, IP_PKTINFO, &i, sizeof(i));
	}
	if (local->family == AF_INET6) {
		struct in6_pktinfo i = { .ipi6_addr = local->v6.sin6_addr,
					 .ipi6_ifindex = local->v6.sin6_scope_id };
		return put_cmsg(buf, IPPROTO_IPV6, IPV6_PKTINFO, &i, sizeof(i));
	}
	return 0;
}

static uint32_t own_mark;

void net_sock_set_mark(uint32_t mark)
{
	own_mark = mark;
}

void net_sock_mark(int fd)
{
	if (own_mark != 0)
		IGNORE(setsockopt(fd, SOL_SOCKET, SO_MARK, &own_mark, sizeof(own_mark)));
}
