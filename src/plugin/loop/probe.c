/* The probe: ask, wait, rest, ask again. */
#include "plugin/loop/probe.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "dns/types.h"

static const uint64_t wait_ns = 2 * NS_PER_S;
static const uint64_t rest_ns = NS_PER_S;

static void hang_up(struct loop_probe *p)
{
	if (!p->asked)
		return;
	loop_fd_del(p->loop, &p->io);
	close(p->io.fd);
	p->asked = false;
}

static void conclude(struct loop_probe *p, bool answered)
{
	hang_up(p);
	if (p->over(p, answered))
		loop_timer_stop(p->loop, &p->timer);
	else
		loop_timer_set(p->loop, &p->timer, loop_now(p->loop) + rest_ns);
}

static void on_readable(struct loop_fd *f, uint32_t events)
{
	struct loop_probe *p = CONTAINER_OF(f, struct loop_probe, io);
	uint8_t m[512];
	(void)events;
	ssize_t n = recv(f->fd, m, sizeof(m), MSG_DONTWAIT);
	if (n < 0) {
		conclude(p, false); /* nobody listens there, or no way */
		return;
	}
	if (n >= DNS_HEADER_BYTES && dns_get16(m) == p->id && (dns_get16(m + 2) & DNS_FLAG_QR) != 0)
		conclude(p, true);
}

static size_t build(const struct loop_probe *p, uint8_t *m)
{
	size_t n = dns_name_len(p->name);
	memset(m, 0, DNS_HEADER_BYTES);
	dns_put16(m, p->id);
	dns_put16(m + 2, DNS_FLAG_RD);
	dns_put16(m + 4, 1);
	memcpy(m + DNS_HEADER_BYTES, p->name, n);
	dns_put16(m + DNS_HEADER_BYTES + n, p->qtype);
	dns_put16(m + DNS_HEADER_BYTES + n + 2, DNS_CLASS_IN);
	return DNS_HEADER_BYTES + n + 4;
}

static bool ask(struct loop_probe *p)
{
	uint8_t m[DNS_HEADER_BYTES + DNS_NAME_MAX + 4];
	rng_secure(&p->id, sizeof(p->id));
	p->io = (struct loop_fd){ .cb = on_readable };
	p->io.fd = socket(p->to.family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (p->io.fd < 0)
		return false;
	if (loop_fd_add(p->loop, &p->io, EPOLLIN) < 0) {
		close(p->io.fd);
		return false;
	}
	p->asked = true;
	size_t n = build(p, m);
	return connect(p->io.fd, &p->to.sa, net_addr_len(&p->to)) == 0 &&
	       send(p->io.fd, m, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static void on_timer(struct loop_timer *t)
{
	struct loop_probe *p = CONTAINER_OF(t, struct loop_probe, timer);
	if (p->asked || !ask(p))
		conclude(p, false);
	else
		loop_timer_set(p->loop, t, loop_now(p->loop) + wait_ns);
}

void loop_probe_start(struct loop_probe *p, struct loop *l, uint64_t delay_ns)
{
	p->loop = l;
	p->timer.cb = on_timer;
	loop_timer_set(l, &p->timer, loop_now(l) + delay_ns);
}

void loop_probe_stop(struct loop_probe *p)
{
	if (p->loop == NULL)
		return;
	hang_up(p);
	loop_timer_stop(p->loop, &p->timer);
}
