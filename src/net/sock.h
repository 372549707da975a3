/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sockets of a DNS server: non-blocking, close-on-exec, SO_REUSEPORT; and the few socket calls of
 * the hot path behind a table, so that tests and benchmarks can put a fake network in their place.
 */
#pragma once

#include <sys/socket.h>

#include "base/compiler.h"
#include "net/addr.h"

/* Bound sockets, or -errno. For TCP an unspecified IPv6 address is dual stack; where the machine
 * has no IPv6 it becomes 0.0.0.0. UDP sockets are of one family only (IPv4 through an IPv6 socket
 * costs 3 % more) and report the address that was asked (IP_PKTINFO). */
MUST_CHECK int net_sock_udp(const union net_addr *addr);
MUST_CHECK int net_sock_tcp(const union net_addr *addr, int backlog);
/* 0 if these could be opened and nobody else has such a socket, -errno otherwise. The two above
 * succeed beside a server of the same user that shares its port, and each gets a part of the
 * queries. */
MUST_CHECK int net_sock_try(const union net_addr *addr);
/* Gives the address a port that nobody uses, for UDP and TCP; -errno if none was found. Port 0 is no
 * way to get one: for sockets that may share a port, the kernel also draws those of other servers. */
MUST_CHECK int net_sock_draw(union net_addr *addr);

/* Raises the soft limit of open files to the hard one; the limit then in force. */
unsigned long net_raise_file_limit(void);
/* Takes up the right to open ports below 1024 where the process may have it: an image whose program
 * file only permits it (`cap_net_bind_service=p`) also starts where a pod's bounding set lacks it.
 * It is the calling thread's, and that of threads started later. */
void net_raise_low_ports(void);

struct net_ops {
	int (*recvmmsg)(int fd, struct mmsghdr *msgs, unsigned count);
	int (*sendmmsg)(int fd, struct mmsghdr *msgs, unsigned count);
};
extern const struct net_ops net_ops_kernel;

/* Control data for one datagram. */
enum { NET_PKTINFO_BYTES = 64 };

/* The address a datagram was sent to, from its control data; the port is left alone. */
void net_pktinfo_get(struct msghdr *msg, union net_addr *ret);
/* Control data that makes a reply leave from `local`; its length. 0 when local is AF_UNSPEC. */
size_t net_pktinfo_put(const union net_addr *local, unsigned char buf[NET_PKTINFO_BYTES]);

/* The mark (SO_MARK) of sockets by which this program sends DNS queries, on one machine with egress rules: these leave them
 * alone. It is compared as a whole; kube-proxy and WireGuard use none of its bits. */
#define NET_SOCK_OWN_MARK 0x0fa10000u

/* Sockets get this mark from now on; 0, the default: none. Before there are threads. Needs CAP_NET_ADMIN when it is used. */
void net_sock_set_mark(uint32_t mark);
/* A socket that queries are sent by. Without the permission it stays as it is. */
void net_sock_mark(int fd);
