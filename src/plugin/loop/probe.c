/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The probe of `loop`: sends the question, waits for a reply, pauses, and sends it again until it
 * is over. */
#include "plugin/loop/probe.h"

#include <assert.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "dns/message.h"

static const uint64_t wait_ns = 2 * NS_PER_S;
static const uint64_t rest_ns = NS_PER_S;

static void hang_up(struct loop_probe *probe)
{
	if (!probe->asked)
		return;
	loop_fd_del(probe->loop, &probe->io);
	close(probe->io.fd);
	probe->asked = false;
}

static void finish_probe(struct loop_probe *probe, bool answered)
{
	hang_up(probe);
	if (probe->over(probe, answered))
		loop_timer_stop(probe->loop, &probe->timer);
	else
		loop_timer_set(probe->loop, &probe->timer, loop_now(probe->loop) + rest_ns);
}

static void on_readable(struct loop_fd *loop_fd, uint32_t events)
{
	struct loop_probe *p = CONTAINER_OF(loop_fd, struct loop_probe, io);
	uint8_t m[512];
	(void)events;
	assert(p->asked);
	ssize_t n = recv(loop_fd->fd, m, sizeof(m), MSG_DONTWAIT);
	if (n < 0) {
		finish_probe(p, false); /* nobody listens there, or no way */
		return;
	}
	if (n >= DNS_HEADER_BYTES && dns_get16(m) == p->id && (dns_get16(m + 2) & DNS_FLAG_QR) != 0)
		finish_probe(p, true);
}

static bool send_probe(struct loop_probe *probe)
{
	uint8_t m[DNS_QUERY_MAX];
	assert(!probe->asked);
	rng_secure(&probe->id, sizeof(probe->id));
	probe->io = (struct loop_fd){ .cb = on_readable };
	probe->io.fd = socket(probe->to.family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (probe->io.fd < 0)
		return false;
	if (loop_fd_add(probe->loop, &probe->io, EPOLLIN) < 0) {
		close(probe->io.fd);
		return false;
	}
	probe->asked = true;
	size_t n = dns_message_query(m, probe->id, DNS_FLAG_RD, probe->name, probe->qtype);
	return connect(probe->io.fd, &probe->to.sa, net_addr_len(&probe->to)) == 0 &&
	       send(probe->io.fd, m, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static void on_timer(struct loop_timer *timer)
{
	struct loop_probe *p = CONTAINER_OF(timer, struct loop_probe, timer);
	if (p->asked || !send_probe(p))
		finish_probe(p, false);
	else
		loop_timer_set(p->loop, timer, loop_now(p->loop) + wait_ns);
}

void loop_probe_start(struct loop_probe *probe, struct loop *loop, uint64_t delay_ns)
{
	probe->loop = loop;
	probe->timer.cb = on_timer;
	loop_timer_set(loop, &probe->timer, loop_now(loop) + delay_ns);
}

void loop_probe_stop(struct loop_probe *probe)
{
	if (probe->loop == NULL)
		return;
	hang_up(probe);
	loop_timer_stop(probe->loop, &probe->timer);
}
