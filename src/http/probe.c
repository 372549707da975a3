/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A GET over a non-blocking socket; each step waits at most until the one deadline. */
#include "http/probe.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "http/probe_test.h"
#include "net/addr.h"

enum { REQUEST_MAX_BYTES = 512 };

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static int wait_for(int fd, short events, uint64_t deadline_ns)
{
	for (;;) {
		uint64_t now = clock_mono_ns();
		if (now >= deadline_ns)
			return ERR_TIMEOUT;
		uint64_t ms = (deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS;
		struct pollfd p = { .fd = fd, .events = events };
		int r = poll(&p, 1, (int)ms);
		if (r > 0)
			return 0;
		if (r < 0 && errno != EINTR)
			return -errno;
	}
}

static int connect_to(const union net_addr *addr, uint64_t deadline_ns)
{
	CLEANUP(close_fd)
	int fd = socket(addr->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, &addr->sa, net_addr_len(addr)) < 0) {
		int err = errno;
		socklen_t n = sizeof(err);
		if (err != EINPROGRESS)
			return -err;
		int r = wait_for(fd, POLLOUT, deadline_ns);
		if (r < 0)
			return r;
		if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &n) < 0)
			return -errno;
		if (err != 0)
			return -err;
	}
	int ret = fd;
	fd = -1; // NOLINT(clang-analyzer-deadcode.DeadStores): the clean-up reads it
	return ret;
}

static int connect_any(const union net_addr *addr, uint64_t deadline_ns)
{
	static const char *const loopback[] = { "127.0.0.1", "::1" };
	size_t n;
	const uint8_t *bytes = net_addr_bytes(addr, &n);
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] != 0)
			return connect_to(addr, deadline_ns);
	}
	int r = ERR_INTERNAL;
	for (size_t i = 0; i < ARRAY_LEN(loopback); i++) {
		union net_addr to;
		IGNORE(net_addr_parse_ip(slice_of(loopback[i]), &to)); /* literals cannot fail */
		net_addr_set_port(&to, net_addr_port(addr));
		r = connect_to(&to, deadline_ns);
		if (r >= 0)
			break;
	}
	return r;
}

static int send_all(int fd, const char *pos, size_t len, uint64_t deadline_ns)
{
	while (len > 0) {
		ssize_t sent = send(fd, pos, len, MSG_NOSIGNAL);
		if (sent >= 0) {
			pos += sent;
			len -= (size_t)sent;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		int r = wait_for(fd, POLLOUT, deadline_ns);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Until the peer closes or `cap` is reached; the number of bytes. */
static int receive_reply(int fd, char *buf, size_t cap, uint64_t deadline_ns)
{
	size_t n = 0;
	while (n < cap) {
		ssize_t got = recv(fd, buf + n, cap - n, 0);
		if (got == 0)
			break;
		if (got > 0) {
			n += (size_t)got;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		int r = wait_for(fd, POLLIN, deadline_ns);
		if (r < 0)
			return r;
	}
	return (int)n;
}

int http_probe_status(struct slice reply, unsigned *ret_status)
{
	enum { STATUS_AT = sizeof("HTTP/1.x ") - 1, STATUS_END = STATUS_AT + 3 };
	ptrdiff_t end = slice_find(reply, '\n');
	if (end < 0)
		return ERR_CLOSED;
	if (end < STATUS_END || !slice_starts(reply, SLICE("HTTP/1.")) ||
	    !ascii_isdigit(reply.p[STATUS_AT - 2]) || reply.p[STATUS_AT - 1] != ' ' ||
	    !ascii_isspace(reply.p[STATUS_END]))
		return ERR_PARSE;
	uint64_t status;
	if (slice_u64((struct slice){ reply.p + STATUS_AT, 3 }, &status) < 0 || status < 100)
		return ERR_PARSE;
	*ret_status = (unsigned)status;
	return 0;
}

int http_probe(const char *addr, const char *path, int timeout_ms, unsigned *ret_status)
{
	uint64_t deadline_ns = clock_mono_ns() + (uint64_t)timeout_ms * NS_PER_MS;
	union net_addr a;
	char request[REQUEST_MAX_BYTES], reply[HTTP_PROBE_MAX_BYTES];
	int r = net_addr_parse(slice_of(addr), &a);
	if (r < 0)
		return r;
	int n = snprintf(request, sizeof(request),
			 "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
	if (n < 0 || (size_t)n >= sizeof(request))
		return ERR_LIMIT;
	CLEANUP(close_fd) int fd = connect_any(&a, deadline_ns);
	if (fd < 0)
		return fd;
	r = send_all(fd, request, (size_t)n, deadline_ns);
	if (r < 0)
		return r;
	r = receive_reply(fd, reply, sizeof(reply), deadline_ns);
	if (r < 0)
		return r;
	return http_probe_status((struct slice){ reply, (size_t)r }, ret_status);
}
