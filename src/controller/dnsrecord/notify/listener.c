/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sockets for NOTIFYs: datagrams, connections, and the pauses between them. */
#include "controller/dnsrecord/notify/listener.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "dns/tsig/key.h"
#include "net/sock.h"

enum {
	BACKLOG = 64,
	TICKS_PER_S = 10, /* the allowance is per tick, so that a flood leaves time to others */
	PER_TICK = DNSRECORD_NOTIFY_PER_S / TICKS_PER_S,
	LENGTH_BYTES = 2,
	SOCKETS = 3, /* UDP of one family or of both, TCP */
};
#define TICK_NS	      (NS_PER_S / TICKS_PER_S)
#define CONNECTION_NS (5 * NS_PER_S)
#define SWEEP_NS      (60 * NS_PER_S) /* between two looks for accounts that are gone */

/* Of one zone. */
struct keys {
	size_t n;
	struct dns_tsig_key v[DNSRECORD_NOTIFY_KEYS];
	char *accounts[DNSRECORD_NOTIFY_KEYS]; /* by which they were learnt */
};

struct listening_socket {
	struct loop_fd io;
	struct dnsrecord_notify_listener *listener;
};

struct connection {
	struct loop_fd io;
	struct loop_timer timeout;
	struct dnsrecord_notify_listener *listener;
	struct connection *next; /* a younger one */
	size_t n;
	uint8_t buf[LENGTH_BYTES + DNSRECORD_NOTIFY_MAX];
};

struct dnsrecord_notify_listener {
	struct dnsrecord_notify_listener_conf conf;
	struct listening_socket sockets[SOCKETS];
	size_t n_sockets;
	struct connection *connections; /* the oldest first */
	size_t n_connections;
	struct map keys;	 /* by zone: struct keys */
	unsigned allowance;	 /* messages that may be read until the tick */
	struct loop_timer tick;	 /* runs while something was read */
	struct loop_timer sweep; /* runs while there are keys */
	bool is_paused;
};

/* ---- messages ---- */

/* The length of the answer; 0: none. */
static size_t answer_message(struct dnsrecord_notify_listener *listener, const uint8_t *msg,
			     size_t len, uint8_t out[DNSRECORD_NOTIFY_REPLY_MAX])
{
	uint8_t copy[DNSRECORD_NOTIFY_MAX + DNS_REQUEST_SLACK];
	struct dnsrecord_notify notify;
	struct dnsrecord_notify_zone zone = { .now_s = clock_wall_ns() / NS_PER_S };
	size_t reply_n = 0;
	assert(len <= DNSRECORD_NOTIFY_MAX);
	memcpy(copy, msg, len);
	if (!dnsrecord_notify_read(copy, len, &notify))
		return 0;
	if (notify.rcode == DNS_RCODE_NOERROR)
		zone.is_ours = listener->conf.has_zone(listener->conf.ctx, notify.zone);
	const struct keys *keys =
		zone.is_ours ? map_get(&listener->keys, slice_of(notify.zone)) : NULL;
	if (keys != NULL) {
		zone.keys = keys->v;
		zone.n_keys = keys->n;
	}
	enum dnsrecord_notify_result result =
		dnsrecord_notify_answer(&notify, &zone, out, &reply_n);
	listener->conf.count(result);
	/* Where an unsigned message is a hint, a wrong signature cannot make it worse. */
	bool is_hint =
		result == DNSRECORD_NOTIFY_ACCEPTED || result == DNSRECORD_NOTIFY_BAD_SIGNATURE;
	if (is_hint && zone.is_ours)
		listener->conf.changed(listener->conf.ctx, notify.zone);
	return reply_n;
}

/* ---- the allowance ---- */

/* -errno is impossible for sockets that the loop knows already. */
static void watch_sockets(struct dnsrecord_notify_listener *listener, uint32_t events)
{
	for (size_t i = 0; i < listener->n_sockets; i++)
		IGNORE(loop_fd_mod(listener->conf.loop, &listener->sockets[i].io, events) < 0);
	listener->is_paused = events == 0;
}

static void on_tick(struct loop_timer *timer)
{
	struct dnsrecord_notify_listener *listener =
		CONTAINER_OF(timer, struct dnsrecord_notify_listener, tick);
	listener->allowance = PER_TICK;
	if (listener->is_paused)
		watch_sockets(listener, EPOLLIN);
}

static void start_tick(struct dnsrecord_notify_listener *listener)
{
	if (listener->tick.heap_at == 0)
		loop_timer_set(listener->conf.loop, &listener->tick,
			       loop_now(listener->conf.loop) + TICK_NS);
}

/* False: nothing may be read until the tick. */
static bool take_allowance(struct dnsrecord_notify_listener *listener)
{
	start_tick(listener);
	if (listener->allowance == 0) {
		watch_sockets(listener, 0);
		return false;
	}
	listener->allowance--;
	return true;
}

/* ---- UDP ---- */

static void send_datagram(int fd, struct msghdr *got, uint8_t *reply, size_t reply_n)
{
	unsigned char control[NET_PKTINFO_BYTES];
	union net_addr local = { .family = AF_UNSPEC };
	struct iovec io = { reply, reply_n };
	struct msghdr out = { .msg_name = got->msg_name,
			      .msg_namelen = got->msg_namelen,
			      .msg_iov = &io,
			      .msg_iovlen = 1 };
	net_pktinfo_get(got, &local);
	out.msg_controllen = net_pktinfo_put(&local, control);
	out.msg_control = out.msg_controllen != 0 ? control : NULL;
	IGNORE(sendmsg(fd, &out, MSG_NOSIGNAL) < 0); /* a lost answer is sent for again */
}

static void on_datagram(struct loop_fd *io, uint32_t events UNUSED)
{
	struct listening_socket *own = CONTAINER_OF(io, struct listening_socket, io);
	uint8_t msg[DNSRECORD_NOTIFY_MAX], reply[DNSRECORD_NOTIFY_REPLY_MAX];
	unsigned char control[NET_PKTINFO_BYTES];
	while (take_allowance(own->listener)) {
		union net_addr from;
		struct iovec part = { msg, sizeof(msg) };
		struct msghdr got = { .msg_name = &from,
				      .msg_namelen = sizeof(from),
				      .msg_iov = &part,
				      .msg_iovlen = 1,
				      .msg_control = control,
				      .msg_controllen = sizeof(control) };
		ssize_t n = recvmsg(io->fd, &got, 0);
		if (n < 0)
			return;
		if ((got.msg_flags & MSG_TRUNC) != 0)
			continue;
		size_t reply_n = answer_message(own->listener, msg, (size_t)n, reply);
		if (reply_n != 0)
			send_datagram(io->fd, &got, reply, reply_n);
	}
}

/* ---- TCP ---- */

static void free_connection(struct connection *connection)
{
	struct dnsrecord_notify_listener *listener = connection->listener;
	struct connection **at = &listener->connections;
	while (*at != connection)
		at = &(*at)->next;
	*at = connection->next;
	listener->n_connections--;
	loop_timer_stop(listener->conf.loop, &connection->timeout);
	loop_fd_del(listener->conf.loop, &connection->io);
	close(connection->io.fd);
	free(connection);
}

static void on_connection_timeout(struct loop_timer *timer)
{
	free_connection(CONTAINER_OF(timer, struct connection, timeout));
}

/* Answers the whole message at the front of the buffer. False: the connection is to be closed. */
static bool answer_front(struct connection *connection)
{
	uint8_t reply[LENGTH_BYTES + DNSRECORD_NOTIFY_REPLY_MAX];
	size_t len = dns_get16(connection->buf), used = LENGTH_BYTES + len;
	if (!take_allowance(connection->listener))
		return false;
	size_t n = answer_message(connection->listener, connection->buf + LENGTH_BYTES, len,
				  reply + LENGTH_BYTES);
	connection->n -= used;
	memmove(connection->buf, connection->buf + used, connection->n);
	if (n == 0)
		return false;
	dns_put16(reply, (uint16_t)n);
	n += LENGTH_BYTES;
	return send(connection->io.fd, reply, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static bool has_front(const struct connection *connection)
{
	return connection->n >= LENGTH_BYTES &&
	       connection->n >= LENGTH_BYTES + (size_t)dns_get16(connection->buf);
}

static void on_readable(struct loop_fd *io, uint32_t events UNUSED)
{
	struct connection *connection = CONTAINER_OF(io, struct connection, io);
	ssize_t n = recv(io->fd, connection->buf + connection->n,
			 sizeof(connection->buf) - connection->n, 0);
	bool is_open = n > 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	connection->n += is_open ? (size_t)n : 0;
	while (is_open && has_front(connection))
		is_open = answer_front(connection);
	/* A message that is too long never becomes whole. */
	if (!is_open || connection->n == sizeof(connection->buf))
		free_connection(connection);
}

static void add_connection(struct dnsrecord_notify_listener *listener, int fd)
{
	struct loop *loop = listener->conf.loop;
	struct connection *connection = xcalloc(1, sizeof(*connection));
	struct connection **at = &listener->connections;
	*connection = (struct connection){ .io = { .fd = fd, .cb = on_readable },
					   .timeout = { .cb = on_connection_timeout },
					   .listener = listener };
	if (loop_fd_add(loop, &connection->io, EPOLLIN) < 0) {
		close(fd);
		free(connection);
		return;
	}
	while (*at != NULL)
		at = &(*at)->next;
	*at = connection;
	loop_timer_set(loop, &connection->timeout, loop_now(loop) + CONNECTION_NS);
	if (++listener->n_connections > DNSRECORD_NOTIFY_CONNECTIONS)
		free_connection(listener->connections);
}

static void on_accept(struct loop_fd *io, uint32_t events UNUSED)
{
	struct dnsrecord_notify_listener *listener =
		CONTAINER_OF(io, struct listening_socket, io)->listener;
	if (!take_allowance(listener))
		return;
	int fd = accept4(io->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0)
		add_connection(listener, fd);
	else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
		watch_sockets(listener, 0); /* the next try would fail as fast */
}

/* ---- open and close ---- */

static int add_socket(struct dnsrecord_notify_listener *listener, int fd,
		      void (*cb)(struct loop_fd *io, uint32_t events))
{
	struct listening_socket *own = &listener->sockets[listener->n_sockets];
	if (fd < 0)
		return fd;
	*own = (struct listening_socket){ .io = { .fd = fd, .cb = cb }, .listener = listener };
	int r = loop_fd_add(listener->conf.loop, &own->io, EPOLLIN);
	if (r < 0)
		close(fd);
	else
		listener->n_sockets++;
	return r;
}

static bool is_any6(const union net_addr *addr)
{
	return addr->family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&addr->v6.sin6_addr);
}

static union net_addr make_any4(uint16_t port)
{
	union net_addr any4 = { .v4 = { .sin_family = AF_INET } };
	net_addr_set_port(&any4, port);
	return any4;
}

static bool lacks_ipv6(int error)
{
	return error == -EAFNOSUPPORT || error == -EADDRNOTAVAIL;
}

/* Sockets that share a port would share its messages: nobody else may have it, of either family. */
static int try_port(const union net_addr *addr)
{
	union net_addr any4 = make_any4(net_addr_port(addr));
	int r = net_sock_try(addr);
	if (is_any6(addr) && (r == 0 || lacks_ipv6(r)))
		r = net_sock_try(&any4);
	return r;
}

/* "All addresses" is a socket of each family for UDP, where the machine has it. */
static int open_sockets(struct dnsrecord_notify_listener *listener)
{
	const union net_addr *addr = &listener->conf.addr;
	union net_addr any4 = make_any4(net_addr_port(addr));
	int r = add_socket(listener, net_sock_udp(addr), on_datagram);
	if (is_any6(addr) && (r >= 0 || lacks_ipv6(r)))
		r = add_socket(listener, net_sock_udp(&any4), on_datagram);
	if (r >= 0)
		r = add_socket(listener, net_sock_tcp(addr, BACKLOG), on_accept);
	return r;
}

static void on_sweep(struct loop_timer *timer);

int dnsrecord_notify_listener_open(const struct dnsrecord_notify_listener_conf *conf,
				   struct dnsrecord_notify_listener **ret, struct err_text err)
{
	struct dnsrecord_notify_listener *listener = xcalloc(1, sizeof(*listener));
	char text[NET_ADDR_TEXT_MAX];
	*listener = (struct dnsrecord_notify_listener){ .conf = *conf,
							.allowance = PER_TICK,
							.tick = { .cb = on_tick },
							.sweep = { .cb = on_sweep } };
	map_init(&listener->keys);
	int r = try_port(&conf->addr);
	if (r == 0)
		r = open_sockets(listener);
	if (r < 0) {
		net_addr_str(&conf->addr, text);
		err_text_set(err, "cannot listen for NOTIFY on %s: %s", text, err_str(r));
		dnsrecord_notify_listener_close(listener);
		return r;
	}
	*ret = listener;
	return 0;
}

static void drop_key(struct keys *keys, size_t index)
{
	size_t last = --keys->n;
	dns_tsig_key_done(&keys->v[index]);
	free(keys->accounts[index]);
	keys->v[index] = keys->v[last];
	keys->accounts[index] = keys->accounts[last];
	keys->v[last] = (struct dns_tsig_key){ 0 };
	keys->accounts[last] = NULL;
}

static void free_keys(struct keys *keys)
{
	while (keys->n != 0)
		drop_key(keys, keys->n - 1);
	free(keys);
}

void dnsrecord_notify_listener_close(struct dnsrecord_notify_listener *listener)
{
	const struct map_entry *entry;
	size_t pos = 0;
	if (listener == NULL)
		return;
	while (listener->connections != NULL)
		free_connection(listener->connections);
	for (size_t i = 0; i < listener->n_sockets; i++) {
		loop_fd_del(listener->conf.loop, &listener->sockets[i].io);
		close(listener->sockets[i].io.fd);
	}
	loop_timer_stop(listener->conf.loop, &listener->tick);
	loop_timer_stop(listener->conf.loop, &listener->sweep);
	while ((entry = map_next(&listener->keys, &pos)) != NULL)
		free_keys(entry->value);
	map_done(&listener->keys);
	free(listener);
}

/* ---- keys ---- */

static void drop_gone(const struct dnsrecord_notify_listener *listener, struct keys *keys)
{
	for (size_t i = keys->n; i-- != 0;) {
		if (!listener->conf.has_account(listener->conf.ctx, keys->accounts[i]))
			drop_key(keys, i);
	}
}

static void on_sweep(struct loop_timer *timer)
{
	struct dnsrecord_notify_listener *listener =
		CONTAINER_OF(timer, struct dnsrecord_notify_listener, sweep);
	const struct map_entry *entry;
	size_t pos = 0, n_left = 0;
	while ((entry = map_next(&listener->keys, &pos)) != NULL) {
		struct keys *keys = entry->value;
		drop_gone(listener, keys);
		n_left += keys->n;
		if (keys->n == 0)
			free(map_del(&listener->keys, slice_of(entry->key)));
	}
	if (n_left != 0)
		loop_timer_set(listener->conf.loop, timer,
			       loop_now(listener->conf.loop) + SWEEP_NS);
}

static bool is_same_key(const struct dns_tsig_key *left, const struct dns_tsig_key *right)
{
	return dns_name_eq(left->name, right->name) && left->algorithm == right->algorithm &&
	       left->mac_bytes == right->mac_bytes && secret_eq(&left->secret, &right->secret);
}

/* The place of the account's key; else that of an equal one, which serves for both: when its account is gone, the
 * other's is learnt by its next check. keys->n: there is none. */
static size_t find_place(const struct keys *keys, const char *account,
			 const struct dns_tsig_key *key)
{
	size_t place = keys->n;
	for (size_t i = 0; i < keys->n; i++) {
		if (strcmp(keys->accounts[i], account) == 0)
			return i;
		if (key != NULL && is_same_key(&keys->v[i], key))
			place = i;
	}
	return place;
}

static void forget_key(struct keys *keys, const char *account)
{
	size_t place = keys != NULL ? find_place(keys, account, NULL) : 0;
	if (keys != NULL && place != keys->n)
		drop_key(keys, place);
}

static void put_key(const struct dnsrecord_notify_listener *listener, struct keys *keys,
		    const char *account, const struct dns_tsig_key *key)
{
	size_t place = find_place(keys, account, key);
	if (place == DNSRECORD_NOTIFY_KEYS) {
		drop_gone(listener, keys);
		place = keys->n;
	}
	if (place == DNSRECORD_NOTIFY_KEYS)
		return;
	if (place == keys->n)
		keys->accounts[keys->n++] = xstrdup(account);
	dns_tsig_key_copy(&keys->v[place], key);
}

void dnsrecord_notify_listener_learn(struct dnsrecord_notify_listener *listener, const char *zone,
				     const char *account, const struct dns_tsig_key *key)
{
	struct keys *keys = map_get(&listener->keys, slice_of(zone));
	if (key == NULL) {
		forget_key(keys, account);
		return;
	}
	if (keys == NULL) {
		keys = xcalloc(1, sizeof(*keys));
		map_set(&listener->keys, slice_of(zone), keys);
	}
	put_key(listener, keys, account, key);
	if (listener->sweep.heap_at == 0)
		loop_timer_set(listener->conf.loop, &listener->sweep,
			       loop_now(listener->conf.loop) + SWEEP_NS);
}
