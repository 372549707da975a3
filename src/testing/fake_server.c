/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The test double of the network: datagrams in, datagrams out, no sockets. */
#include "testing/fake_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/clock_test.h"
#include "base/log.h"
#include "base/log_queue.h"
#include "base/log_queue_test.h"
#include "base/mem.h"
#include "base/metrics/metrics.h"
#include "base/rcu/rcu.h"
#include "base/strbuf.h"
#include "corefile/corefile.h"
#include "dns/dump_test.h"
#include "dns/types.h"
#include "net/sock.h"
#include "server/conn/listener.h"
#include "server/conn/udp.h"
#include "server/generation.h"
#include "server/server_state.h"
#include "server/server_test.h"
#include "net/task.h"
#include "net/task_test.h"

enum { QUEUE = 2048, DATAGRAM_MAX = 65536 };

struct datagram {
	union net_addr from, to;
	size_t n;
	uint8_t *bytes;
};

struct fake {
	struct server *srv;
	struct datagram in;
	bool have_in;
	struct datagram out[QUEUE];
	unsigned out_first, out_n;
	struct strbuf text, logged;
	uint8_t last[DATAGRAM_MAX];
	size_t last_n;
	int log_fd;
};

static struct fake *current; /* net_ops have no context of their own */
static char error_text[1024];
static _Atomic uint64_t now_ns = 1000 * NS_PER_S; /* the background thread reads it, too */

static uint64_t fake_mono(void)
{
	return now_ns;
}

static uint64_t fake_wall(void)
{
	return UINT64_C(1800000000) * NS_PER_S + now_ns;
}

static const struct clock_source fake_clock = { fake_mono, fake_wall };

static int fake_recvmmsg(int fd, struct mmsghdr *v, unsigned n)
{
	struct fake *f = current;
	if (fd >= 0) /* a plugin's own socket, not a listener's */
		return net_ops_kernel.recvmmsg(fd, v, n);
	if (!f->have_in || n == 0) {
		errno = EAGAIN;
		return -1;
	}
	f->have_in = false;
	struct msghdr *m = &v[0].msg_hdr;
	size_t len = MIN(f->in.n, m->msg_iov[0].iov_len);
	memcpy(m->msg_iov[0].iov_base, f->in.bytes, len);
	v[0].msg_len = (unsigned)len;
	m->msg_flags = len < f->in.n ? MSG_TRUNC : 0;
	memcpy(m->msg_name, &f->in.from, sizeof(f->in.from));
	m->msg_controllen = net_pktinfo_put(&f->in.to, m->msg_control);
	/* The kernel reports the address asked; our writer fills the one to send from. */
	struct cmsghdr *c = CMSG_FIRSTHDR(m);
	if (f->in.to.family == AF_INET && c != NULL) {
		struct in_pktinfo i = { .ipi_addr = f->in.to.v4.sin_addr };
		memcpy(CMSG_DATA(c), &i, sizeof(i));
	}
	return 1;
}

static int fake_sendmmsg(int fd, struct mmsghdr *v, unsigned n)
{
	struct fake *f = current;
	if (fd >= 0)
		return net_ops_kernel.sendmmsg(fd, v, n);
	for (unsigned i = 0; i < n; i++) {
		if (f->out_n == QUEUE)
			abort();
		struct datagram *d = &f->out[(f->out_first + f->out_n++) % QUEUE];
		d->n = v[i].msg_hdr.msg_iov[0].iov_len;
		d->bytes = xmemdup(v[i].msg_hdr.msg_iov[0].iov_base, d->n);
	}
	return (int)n;
}

static const struct net_ops fake_ops = { fake_recvmmsg, fake_sendmmsg };

static struct corefile *parse(const char *text)
{
	struct corefile *cf = NULL;
	struct srcerr err = { 0 };
	static const struct corefile_source none;
	if (corefile_parse("Corefile", slice_of(text), &none, &cf, &err) < 0) {
		srcerr_str(&err, error_text, sizeof(error_text));
		return NULL;
	}
	return cf;
}

struct fake *fake_new(const char *corefile)
{
	struct srcerr err = { 0 };
	struct corefile *cf = parse(corefile);
	if (cf == NULL)
		return NULL;
	struct fake *f = xcalloc(1, sizeof(*f));
	strbuf_init(&f->text);
	strbuf_init(&f->logged);
	f->log_fd = memfd_create("log", MFD_CLOEXEC);
	log_set_fd(f->log_fd);
	clock_set_source(&fake_clock);
	current = f;
	rcu_thread_register(); /* this thread plays the worker */
	struct server_opts o = { .default_port = 53,
				 .workers = 1,
				 .no_threads = true,
				 .ops = &fake_ops,
				 .log_fd = f->log_fd };
	if (server_start(&o, cf, &f->srv, &err) < 0) {
		srcerr_str(&err, error_text, sizeof(error_text));
		fake_free(f);
		return NULL;
	}
	return f;
}

const char *fake_error(void)
{
	return error_text;
}

bool fake_refuses(const char *stanza, const char *error)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text, ". {\n%s\n}\n", stanza);
	struct fake *f = fake_new(text.s);
	fake_free(f);
	return f == NULL && strncmp(fake_error(), error, strlen(error)) == 0;
}

void fake_free(struct fake *f)
{
	if (f == NULL)
		return;
	if (f->srv != NULL)
		server_stop(f->srv, 0);
	for (; f->out_n > 0; f->out_n--, f->out_first = (f->out_first + 1) % QUEUE)
		free(f->out[f->out_first].bytes);
	free(f->in.bytes);
	strbuf_done(&f->text);
	strbuf_done(&f->logged);
	log_set_fd(1);
	log_set_debug(false);
	close(f->log_fd);
	clock_set_source(NULL);
	rcu_thread_unregister();
	free(f);
	current = NULL;
}

bool fake_reload(struct fake *f, const char *corefile)
{
	struct srcerr err = { 0 };
	struct corefile *cf = parse(corefile);
	if (cf == NULL)
		return false;
	if (server_reload(f->srv, cf, &err) < 0) {
		srcerr_str(&err, error_text, sizeof(error_text));
		return false;
	}
	return true;
}

static size_t build(const struct fake_ask *a, uint8_t *m)
{
	uint16_t flags = a->flags == 0 ? DNS_FLAG_RD : a->flags == DNS_FLAG_Z ? 0 : a->flags;
	int type = dns_type_parse(slice_of(a->type != NULL ? a->type : "A"), true);
	int cls = dns_class_parse(slice_of(a->cls != NULL ? a->cls : "IN"), true);
	memset(m, 0, DNS_HEADER_BYTES);
	dns_put16(m, 0x1234);
	dns_put16(m + 2, flags);
	dns_put16(m + 4, 1);
	size_t n = DNS_HEADER_BYTES;
	int len = dns_name_from_text(slice_of(a->name != NULL ? a->name : "example.org."), m + n);
	if (len < 0 || type < 0 || cls < 0)
		abort();
	n += (size_t)len;
	dns_put16(m + n, (uint16_t)type);
	dns_put16(m + n + 2, (uint16_t)cls);
	n += 4;
	if (a->udp_size == 0)
		return n;
	m[11] = 1;
	m[n] = 0;
	dns_put16(m + n + 1, DNS_TYPE_OPT);
	dns_put16(m + n + 3, a->udp_size);
	dns_put32(m + n + 5, a->dnssec_ok ? 0x8000 : 0);
	dns_put16(m + n + 9, (uint16_t)a->options_n);
	if (a->options_n != 0)
		memcpy(m + n + 11, a->options, a->options_n);
	return n + 11 + a->options_n;
}

static struct listener_sock *find_sock(struct fake *f, uint16_t port)
{
	for (size_t i = 0; i < f->srv->gen->n_route; i++) {
		struct listener *l = f->srv->gen->route[i]->listener;
		if (port == 0 || net_addr_port(&l->addr) == port)
			return &l->sock[0];
	}
	abort();
}

void fake_send(struct fake *f, const struct fake_ask *a)
{
	uint8_t m[4096];
	struct listener_sock *s = find_sock(f, a->listen_port);
	size_t n = a->raw != NULL ? a->raw_n : build(a, m);
	free(f->in.bytes);
	f->in.bytes = xmemdup(a->raw != NULL ? a->raw : m, n);
	f->in.n = n;
	f->have_in = true;
	if (net_addr_parse(slice_of(a->client != NULL ? a->client : "192.0.2.1:5353"),
			   &f->in.from) < 0 ||
	    net_addr_parse(slice_of(a->local != NULL ? a->local : "192.0.2.53:53"), &f->in.to) < 0)
		abort();
	rcu_enter(); /* as the worker's loop does */
	udp_readable(&s->udp[0].io, EPOLLIN);
	rcu_leave();
	server_turn(f->srv, 0, false);
}

const char *fake_next(struct fake *f)
{
	if (f->out_n == 0)
		return NULL;
	struct datagram *d = &f->out[f->out_first];
	f->out_first = (f->out_first + 1) % QUEUE;
	f->out_n--;
	memcpy(f->last, d->bytes, d->n);
	f->last_n = d->n;
	free(d->bytes);
	strbuf_reset(&f->text);
	if (dns_dump(f->last, f->last_n, &f->text) < 0)
		strbuf_adds(&f->text, "MALFORMED\n");
	return f->text.s;
}

const char *fake_ask(struct fake *f, const struct fake_ask *a)
{
	fake_send(f, a);
	return fake_next(f);
}

const uint8_t *fake_wire(const struct fake *f, size_t *ret_n)
{
	*ret_n = f->last_n;
	return f->last;
}

void fake_advance(struct fake *f, uint64_t ns)
{
	now_ns += ns;
	task_sync();
	server_turn(f->srv, 0, false);
	server_turn(f->srv, 0, false);
}

const char *fake_log(struct fake *f)
{
	char buf[4096];
	ssize_t n;
	log_queue_flush(f->srv->log_queue);
	strbuf_reset(&f->logged);
	lseek(f->log_fd, 0, SEEK_SET);
	while ((n = read(f->log_fd, buf, sizeof(buf))) > 0)
		strbuf_add(&f->logged, buf, (size_t)n);
	if (ftruncate(f->log_fd, 0) != 0)
		abort();
	lseek(f->log_fd, 0, SEEK_SET);
	return f->logged.s;
}

double fake_metric(struct fake *f, const char *line_start)
{
	CLEANUP(strbuf_done) struct strbuf all = STRBUF_INIT;
	(void)f;
	metrics_render(&all);
	size_t n = strlen(line_start);
	for (const char *line = all.s; line != NULL && *line != '\0';) {
		if (strncmp(line, line_start, n) == 0 && line[n] == ' ')
			return strtod(line + n, NULL);
		line = strchr(line, '\n');
		line = line != NULL ? line + 1 : NULL;
	}
	return -1;
}

unsigned fake_inflight(const struct fake *f)
{
	return f->srv->gen->worker[0].inflight;
}

struct server *fake_server(struct fake *f)
{
	return f->srv;
}
