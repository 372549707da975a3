/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Accepts DNS servers and passes their requests on to the address set. A request that waits there outlives
 * its connection: it is answered into nothing then. */
#include "node/door.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "addrset/shared/agent_stream.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "node/unix_socket.h"

#define HELLO_NS (5 * NS_PER_S) /* for the handshake and the hello */

/* The oldest one first. */
struct connection_list {
	struct connection *first, **end;
	size_t n;
};

struct connection {
	struct addrset_agent_stream stream;
	struct node_door *door;
	struct connection_list *list;
	struct connection *next, **link;
	struct loop_timer hello_timer;
	size_t n_waiting;
	struct door_request *waiting; /* in no order */
};

struct door_request {
	struct addrset_request request;
	struct node_door *door;
	struct connection *connection; /* NULL: it has ended */
	struct door_request *next, **link;
	uint32_t number;
	char tenant[ADDRSET_AGENT_TENANT_MAX];
	struct addrset_pair pairs[];
};

struct node_door {
	struct loop *loop;
	struct addrset *set;
	struct net_tls_cred *cred;
	char *path; /* NULL: an address */
	struct node_unix_socket unix_socket;
	uint16_t port;
	struct loop_fd listener;
	bool is_full;				   /* does not accept */
	bool is_ready;				   /* what probes hear */
	struct connection_list strangers, greeted; /* before their hello, and after it */
	size_t n_requests;			   /* in the set */
	bool is_closed;				   /* freed with the last request */
	struct node_door_counts counts;
};

/* ---- lists ---- */

static void list_init(struct connection_list *list)
{
	*list = (struct connection_list){ .end = &list->first };
}

static void list_append(struct connection_list *list, struct connection *connection)
{
	connection->list = list;
	connection->next = NULL;
	connection->link = list->end;
	*list->end = connection;
	list->end = &connection->next;
	list->n++;
}

static void list_remove(struct connection *connection)
{
	struct connection_list *list = connection->list;
	assert(list->n > 0);
	*connection->link = connection->next;
	if (connection->next != NULL)
		connection->next->link = connection->link;
	else
		list->end = connection->link;
	list->n--;
}

/* ---- requests ---- */

static void free_closed(struct node_door *door)
{
	if (!door->is_closed || door->n_requests != 0)
		return;
	free(door->path);
	net_tls_cred_unref(door->cred);
	free(door);
}

static void unlink_request(struct door_request *request)
{
	assert(request->connection != NULL);
	*request->link = request->next;
	if (request->next != NULL)
		request->next->link = request->link;
	request->connection->n_waiting--;
	request->connection = NULL;
}

static void on_done(struct addrset_request *base, int result)
{
	struct door_request *request = CONTAINER_OF(base, struct door_request, request);
	struct node_door *door = request->door;
	struct connection *connection = request->connection;
	door->n_requests--;
	door->counts.failed += result < 0;
	if (connection != NULL) {
		unlink_request(request);
		addrset_agent_put_result(addrset_agent_stream_out(&connection->stream),
					 request->number, result);
	}
	free(request);
	free_closed(door);
}

static void start_request(struct connection *connection, const struct addrset_agent_frame *frame)
{
	struct node_door *door = connection->door;
	size_t n = frame->n_pairs;
	struct door_request *request = xcalloc(1, sizeof(*request) + n * sizeof(request->pairs[0]));
	addrset_agent_pairs(frame, clock_mono_ns(), request->pairs);
	if (frame->tenant.n != 0)
		memcpy(request->tenant, frame->tenant.p, frame->tenant.n);
	request->request = (struct addrset_request){ .pairs = request->pairs,
						     .n_pairs = n,
						     .tenant = { request->tenant, frame->tenant.n },
						     .done = on_done };
	request->door = door;
	request->connection = connection;
	request->number = frame->number;
	request->next = connection->waiting;
	request->link = &connection->waiting;
	if (request->next != NULL)
		request->next->link = &request->next;
	connection->waiting = request;
	connection->n_waiting++;
	door->n_requests++;
	door->counts.requests++;
	addrset_add(door->set, &request->request);
}

/* ---- connections ---- */

static void start_accepting(struct node_door *door)
{
	if (!door->is_full)
		return;
	/* It was accepted before: there is room for it. */
	door->is_full = loop_fd_add(door->loop, &door->listener, EPOLLIN) < 0;
}

static void free_connection(struct connection *connection)
{
	struct node_door *door = connection->door;
	while (connection->waiting != NULL)
		unlink_request(connection->waiting);
	list_remove(connection);
	loop_timer_stop(door->loop, &connection->hello_timer);
	addrset_agent_stream_close(&connection->stream);
	free(connection);
	door->counts.connections--;
	start_accepting(door);
}

static int on_frame(struct addrset_agent_stream *stream, const struct addrset_agent_frame *frame)
{
	struct connection *connection = CONTAINER_OF(stream, struct connection, stream);
	if (frame->kind == ADDRSET_AGENT_PROBE) {
		addrset_agent_put_result(addrset_agent_stream_out(stream), frame->number,
					 connection->door->is_ready ? 0 : ERR_BUSY);
		return 0;
	}
	if (frame->kind != ADDRSET_AGENT_ADD && frame->kind != ADDRSET_AGENT_ADD_FOR)
		return ERR_PARSE;
	if (connection->n_waiting < NODE_DOOR_REQUESTS_MAX)
		start_request(connection, frame);
	else
		addrset_agent_put_result(addrset_agent_stream_out(stream), frame->number, ERR_BUSY);
	return 0;
}

static void on_ended(struct addrset_agent_stream *stream, int reason)
{
	struct connection *connection = CONTAINER_OF(stream, struct connection, stream);
	connection->door->counts.refused +=
		reason == ERR_PARSE || reason == ERR_TLS || reason == ERR_LIMIT;
	free_connection(connection);
}

static void on_hello(struct addrset_agent_stream *stream)
{
	struct connection *connection = CONTAINER_OF(stream, struct connection, stream);
	loop_timer_stop(stream->loop, &connection->hello_timer);
	list_remove(connection);
	list_append(&connection->door->greeted, connection);
}

static void refuse_stranger(struct connection *connection)
{
	connection->door->counts.refused++;
	free_connection(connection);
}

static void on_hello_time(struct loop_timer *timer)
{
	refuse_stranger(CONTAINER_OF(timer, struct connection, hello_timer));
}

static void add_connection(struct node_door *door, int fd)
{
	struct net_tls *tls = NULL;
	int r = door->cred != NULL ? net_tls_accept(door->cred, fd, NULL, &tls) : 0;
	if (r < 0) {
		close(fd);
		return;
	}
	struct connection *connection = xcalloc(1, sizeof(*connection));
	connection->stream = (struct addrset_agent_stream){
		.loop = door->loop, .greeted = on_hello, .frame = on_frame, .ended = on_ended
	};
	if (addrset_agent_stream_open(&connection->stream, fd, tls, false) < 0) {
		free(connection);
		return;
	}
	connection->door = door;
	list_append(&door->strangers, connection);
	connection->hello_timer.cb = on_hello_time;
	loop_timer_set(door->loop, &connection->hello_timer, clock_mono_ns() + HELLO_NS);
	door->counts.connections++;
	door->counts.accepted++;
}

static void on_accept(struct loop_fd *io, uint32_t events UNUSED)
{
	struct node_door *door = CONTAINER_OF(io, struct node_door, listener);
	int fd = accept4(io->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	bool has_no_fd = fd < 0 && (errno == EMFILE || errno == ENFILE);
	if (fd >= 0)
		add_connection(door, fd);
	if (door->strangers.n > NODE_DOOR_STRANGERS_MAX || (has_no_fd && door->strangers.n != 0))
		refuse_stranger(door->strangers.first);
	/* Without a free descriptor the next try would fail as fast: first one has to end. */
	else if (door->greeted.n >= NODE_DOOR_CONNECTIONS_MAX ||
		 (has_no_fd && door->greeted.n != 0)) {
		loop_fd_del(door->loop, &door->listener);
		door->is_full = true;
	}
}

/* ---- open and close ---- */

static int bind_unix(const struct node_door_conf *conf, struct node_unix_socket *ret,
		     struct err_text err)
{
	*ret = (struct node_unix_socket){ .path = conf->path,
					  .has_group = conf->has_group,
					  .group = conf->group };
	int r = node_unix_socket_open(ret, err);
	return r < 0 ? r : ret->fd;
}

static int bind_addr(const union net_addr *addr, struct err_text err)
{
	static const int on = 1;
	char text[NET_ADDR_TEXT_MAX];
	int fd = socket(addr->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    bind(fd, &addr->sa, net_addr_len(addr)) == 0 && listen(fd, SOMAXCONN) == 0)
		return fd;
	int r = -errno;
	net_addr_str(addr, text);
	err_text_set(err, "cannot listen on %s: %s", text, err_str(r));
	if (fd >= 0)
		close(fd);
	return r;
}

static uint16_t port_of(int fd)
{
	union net_addr addr = { 0 };
	socklen_t n = sizeof(addr);
	return getsockname(fd, &addr.sa, &n) == 0 ? net_addr_port(&addr) : 0;
}

static void close_listener(bool is_unix, const struct node_unix_socket *unix_socket, int fd)
{
	if (is_unix)
		node_unix_socket_close(unix_socket);
	else
		close(fd);
}

int node_door_open(const struct node_door_conf *conf, struct node_door **ret, struct err_text err)
{
	assert((conf->path != NULL) != (conf->addr != NULL));
	assert(conf->addr == NULL || conf->cred != NULL);
	struct node_unix_socket unix_socket = { 0 };
	int fd = conf->path != NULL ? bind_unix(conf, &unix_socket, err)
				    : bind_addr(conf->addr, err);
	if (fd < 0)
		return fd;
	struct node_door *door = xcalloc(1, sizeof(*door));
	door->loop = conf->loop;
	door->set = conf->set;
	list_init(&door->strangers);
	list_init(&door->greeted);
	door->listener = (struct loop_fd){ .fd = fd, .cb = on_accept };
	int r = loop_fd_add(conf->loop, &door->listener, EPOLLIN);
	if (r < 0) {
		err_text_set(err, "cannot watch a socket: %s", err_str(r));
		close_listener(conf->path != NULL, &unix_socket, fd);
		free(door);
		return r;
	}
	door->port = conf->addr != NULL ? port_of(fd) : 0;
	door->path = conf->path != NULL ? xstrdup(conf->path) : NULL;
	door->unix_socket = unix_socket;
	door->unix_socket.path = door->path;
	door->cred = conf->cred != NULL ? net_tls_cred_ref(conf->cred) : NULL;
	*ret = door;
	return 0;
}

void node_door_end_connections(struct node_door *door)
{
	while (door->strangers.n != 0)
		free_connection(door->strangers.first);
	while (door->greeted.n != 0)
		free_connection(door->greeted.first);
}

void node_door_forget(struct node_door *door)
{
	struct connection *next;
	for (struct connection *one = door->greeted.first; one != NULL; one = next) {
		next = one->next;
		if (one->stream.version >= ADDRSET_AGENT_FORGETS)
			addrset_agent_put_forget(addrset_agent_stream_out(&one->stream));
		else
			free_connection(one);
	}
}

void node_door_close(struct node_door *door)
{
	if (door == NULL)
		return;
	node_door_end_connections(door);
	if (!door->is_full)
		loop_fd_del(door->loop, &door->listener);
	close_listener(door->path != NULL, &door->unix_socket, door->listener.fd);
	door->is_closed = true;
	free_closed(door);
}

void node_door_set_cred(struct node_door *door, struct net_tls_cred *cred)
{
	assert(door->cred != NULL);
	net_tls_cred_unref(door->cred);
	door->cred = net_tls_cred_ref(cred);
}

void node_door_set_ready(struct node_door *door)
{
	door->is_ready = true;
}

uint16_t node_door_port(const struct node_door *door)
{
	return door->port;
}

struct node_door_counts node_door_counts(const struct node_door *door)
{
	return door->counts;
}
