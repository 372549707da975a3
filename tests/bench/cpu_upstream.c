/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers wait in a queue per descriptor. The descriptors are real sockets, which only a real
 * datagram makes readable for epoll: each gets one when answers first wait for it, and since nobody
 * takes it out it stays readable, whatever is really read. */
#include "cpu_upstream.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "dns/request.h"
#include "dns/types.h"

enum { FDS = 1024, QUEUE = 256, ANSWER_MAX = 128, RECORD = 16 };

struct answer {
	uint16_t n;
	uint8_t bytes[ANSWER_MAX];
};

static struct queue {
	unsigned first, n;
	struct answer answer[QUEUE];
} * queues[FDS];

static int upstream = -1;
static unsigned pending;

const char *cpu_upstream_address(void)
{
	static char text[64];
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	if (upstream < 0) {
		upstream = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (upstream < 0 || bind(upstream, (struct sockaddr *)&a, sizeof(a)) != 0 ||
		    getsockname(upstream, (struct sockaddr *)&a, &len) != 0)
			abort();
		snprintf(text, sizeof(text), "127.0.0.1:%u", ntohs(a.sin_port));
	}
	return text;
}

bool cpu_upstream_used(void)
{
	return upstream >= 0;
}

/* The question with an A record behind it. */
static void make_answer(const struct iovec *query, struct answer *a)
{
	static const uint8_t record[RECORD] = {
		0xc0, DNS_HEADER_BYTES, 0, DNS_TYPE_A, 0, 1, 0, 0, 14, 16, 0, 4, 192, 0, 2, 1
	};
	if (query->iov_len + RECORD > ANSWER_MAX)
		abort();
	memcpy(a->bytes, query->iov_base, query->iov_len);
	dns_put16(a->bytes + 2, DNS_FLAG_QR | DNS_FLAG_RD | DNS_FLAG_RA);
	dns_put16(a->bytes + 6, 1);
	memcpy(a->bytes + query->iov_len, record, RECORD);
	a->n = (uint16_t)(query->iov_len + RECORD);
}

int cpu_upstream_send(int fd, struct mmsghdr *v, unsigned n)
{
	if (fd >= FDS)
		abort();
	if (queues[fd] == NULL)
		queues[fd] = calloc(1, sizeof(*queues[fd]));
	struct queue *q = queues[fd];
	for (unsigned i = 0; i < n; i++) {
		if (q == NULL || q->n == QUEUE)
			abort();
		make_answer(v[i].msg_hdr.msg_iov, &q->answer[(q->first + q->n++) % QUEUE]);
		v[i].msg_len = (unsigned)v[i].msg_hdr.msg_iov->iov_len;
	}
	pending += n;
	return (int)n;
}

int cpu_upstream_recv(int fd, struct mmsghdr *v, unsigned n)
{
	struct queue *q = fd < FDS ? queues[fd] : NULL;
	if (q == NULL || q->n == 0) {
		errno = EAGAIN;
		return -1;
	}
	n = MIN(n, q->n);
	for (unsigned i = 0; i < n; i++) {
		const struct answer *a = &q->answer[q->first];
		memcpy(v[i].msg_hdr.msg_iov->iov_base, a->bytes, a->n);
		v[i].msg_hdr.msg_flags = 0;
		v[i].msg_len = a->n;
		q->first = (q->first + 1) % QUEUE;
		q->n--;
	}
	pending -= n;
	return (int)n;
}

static void wake(int fd)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);
	if (getsockname(fd, (struct sockaddr *)&a, &len) != 0 ||
	    sendto(upstream, "", 1, 0, (struct sockaddr *)&a, len) != 1)
		abort();
}

bool cpu_upstream_pending(void)
{
	static unsigned before;
	bool stuck = pending > 0 && pending == before;
	for (int fd = 0; stuck && fd < FDS; fd++) {
		if (queues[fd] != NULL && queues[fd]->n > 0)
			wake(fd);
	}
	before = pending;
	return pending > 0;
}
