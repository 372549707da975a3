/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Moves bytes between the socket and the two buffers. */
#include "addrset/shared/agent_stream.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"

enum { READ_BYTES = 8192, READS = 4 /* in one turn */ };

static void end_stream(struct addrset_agent_stream *stream, int reason)
{
	addrset_agent_stream_close(stream);
	stream->ended(stream, reason);
}

/* ---- out ---- */

static ssize_t send_bytes(struct addrset_agent_stream *stream, const char *at, size_t n)
{
	if (stream->tls == NULL) {
		ssize_t sent = send(stream->io.fd, at, n, MSG_NOSIGNAL);
		return sent < 0 ? -errno : sent;
	}
	if (stream->n_sending == 0)
		stream->n_sending = n;
	ssize_t sent = net_tls_send(stream->tls, at, stream->n_sending);
	if (sent != -EAGAIN)
		stream->n_sending = 0;
	return sent;
}

static int send_all(struct addrset_agent_stream *stream)
{
	while (stream->n_sent < stream->out.n) {
		ssize_t sent = send_bytes(stream, stream->out.s + stream->n_sent,
					  stream->out.n - stream->n_sent);
		if (sent == -EAGAIN)
			break;
		if (sent < 0)
			return (int)sent;
		stream->n_sent += (size_t)sent;
	}
	if (stream->n_sent == stream->out.n) {
		strbuf_reset(&stream->out);
		stream->n_sent = 0;
	}
	return stream->out.n - stream->n_sent > ADDRSET_AGENT_UNSENT_MAX ? ERR_LIMIT : 0;
}

/* ---- in ---- */

static int take_hello(struct addrset_agent_stream *stream, const struct addrset_agent_frame *frame)
{
	bool is_hello = frame->kind == ADDRSET_AGENT_HELLO;
	if (is_hello == stream->has_hello)
		return ERR_PARSE; /* none at the beginning, or a second one */
	if (is_hello) {
		stream->has_hello = true;
		stream->version = MIN(frame->version, (uint16_t)ADDRSET_AGENT_VERSION);
		if (stream->greeted != NULL)
			stream->greeted(stream);
	}
	return 0;
}

/* 1: the stream was closed by a call. */
static int take_frames(struct addrset_agent_stream *stream)
{
	struct slice rest = strbuf_slice(&stream->in);
	struct addrset_agent_frame frame;
	int r;
	while ((r = addrset_agent_take(&rest, &frame)) > 0) {
		r = take_hello(stream, &frame);
		if (r == 0 && frame.kind != ADDRSET_AGENT_HELLO)
			r = stream->frame(stream, &frame);
		if (r < 0)
			return r;
		if (!stream->is_open)
			return 1;
	}
	if (r < 0)
		return r;
	size_t taken = stream->in.n - rest.n;
	if (taken != 0) {
		memmove(stream->in.s, rest.p, rest.n);
		stream->in.n = rest.n;
	}
	return 0;
}

static ssize_t receive_bytes(struct addrset_agent_stream *stream, char *at, size_t n)
{
	if (stream->tls != NULL)
		return net_tls_recv(stream->tls, at, n);
	ssize_t got = recv(stream->io.fd, at, n, 0);
	return got < 0 ? -errno : got;
}

static int receive(struct addrset_agent_stream *stream)
{
	char bytes[READ_BYTES];
	/* TLS has to be emptied: what it has decrypted makes no socket readable. */
	for (int i = 0; i < READS || stream->tls != NULL; i++) {
		ssize_t got = receive_bytes(stream, bytes, sizeof(bytes));
		if (got == -EAGAIN)
			return 0;
		if (got <= 0)
			return got == 0 ? ERR_CLOSED : (int)got;
		strbuf_add(&stream->in, bytes, (size_t)got);
		int r = take_frames(stream);
		if (r != 0)
			return r;
	}
	return 0;
}

/* ---- events ---- */

static int finish_connect(struct addrset_agent_stream *stream)
{
	int error = 0;
	socklen_t n = sizeof(error);
	if (getsockopt(stream->io.fd, SOL_SOCKET, SO_ERROR, &error, &n) != 0)
		return -errno;
	stream->is_connecting = false;
	return -error;
}

static int shake_hands(struct addrset_agent_stream *stream)
{
	int r = net_tls_handshake(stream->tls);
	if (r == -EAGAIN)
		return 0;
	stream->is_shaking_hands = r < 0;
	return r;
}

static int watch(struct addrset_agent_stream *stream)
{
	bool wants_write = stream->is_connecting || stream->n_sent < stream->out.n;
	if (stream->is_shaking_hands && !stream->is_connecting)
		wants_write = net_tls_wants_write(stream->tls);
	uint32_t events = EPOLLIN | (wants_write ? EPOLLOUT : 0);
	if (events == stream->events)
		return 0;
	stream->events = events;
	return loop_fd_mod(stream->loop, &stream->io, events);
}

static int advance(struct addrset_agent_stream *stream, uint32_t events)
{
	int r = 0;
	if (stream->is_connecting)
		r = (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0 ? finish_connect(stream) : 0;
	if (r < 0 || stream->is_connecting)
		return r;
	if (stream->is_shaking_hands)
		r = shake_hands(stream);
	if (r < 0 || stream->is_shaking_hands)
		return r;
	if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0)
		r = receive(stream);
	return r == 0 ? send_all(stream) : r;
}

static void progress(struct addrset_agent_stream *stream, uint32_t events)
{
	int r = advance(stream, events);
	if (r == 0)
		r = watch(stream);
	if (r < 0)
		end_stream(stream, r);
}

static void on_event(struct loop_fd *io, uint32_t events)
{
	progress(CONTAINER_OF(io, struct addrset_agent_stream, io), events);
}

static void on_send_time(struct loop_timer *timer)
{
	progress(CONTAINER_OF(timer, struct addrset_agent_stream, send_timer), 0);
}

struct strbuf *addrset_agent_stream_out(struct addrset_agent_stream *stream)
{
	assert(stream->is_open);
	loop_timer_set(stream->loop, &stream->send_timer, loop_now(stream->loop));
	return &stream->out;
}

int addrset_agent_stream_open(struct addrset_agent_stream *stream, int fd, struct net_tls *tls,
			      bool is_connecting)
{
	assert(!stream->is_open && stream->frame != NULL && stream->ended != NULL);
	stream->io = (struct loop_fd){ .fd = fd, .cb = on_event };
	stream->tls = tls;
	stream->is_connecting = is_connecting;
	stream->is_shaking_hands = tls != NULL;
	stream->has_hello = false;
	stream->version = 0;
	stream->send_timer.cb = on_send_time;
	stream->events = EPOLLIN | EPOLLOUT;
	strbuf_init(&stream->in);
	strbuf_init(&stream->out);
	addrset_agent_put_hello(&stream->out);
	int r = loop_fd_add(stream->loop, &stream->io, stream->events);
	if (r < 0) {
		net_tls_free(tls);
		close(fd);
		strbuf_done(&stream->out);
		return r;
	}
	stream->is_open = true;
	return 0;
}

void addrset_agent_stream_close(struct addrset_agent_stream *stream)
{
	if (!stream->is_open)
		return;
	stream->is_open = false;
	loop_fd_del(stream->loop, &stream->io);
	loop_timer_stop(stream->loop, &stream->send_timer);
	net_tls_free(stream->tls);
	stream->tls = NULL;
	close(stream->io.fd);
	strbuf_done(&stream->in);
	strbuf_done(&stream->out);
	stream->n_sent = stream->n_sending = 0;
}
