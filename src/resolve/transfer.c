/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The connection of a zone transfer: the signed request out, signed messages in. */
#include "resolve/transfer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "net/sock.h"
#include "dns/tsig/explain.h"
#include "resolve/tcp_frame.h"
#include "resolve/transfer_reader_priv.h"

enum {
	READS_PER_TURN = 8, /* others use the loop, too */
	SOA_BYTES = 2 + 10 + 22,
	REQUEST_MAX = 2 + DNS_QUERY_MAX + SOA_BYTES + DNS_TSIG_RECORD_MAX,
};

struct resolve_transfer_io {
	struct resolve_transfer *transfer;
	struct loop_fd fd; /* fd -1: none */
	bool connected;
	bool asks_soa; /* the SOA query before IXFR is not answered yet */
	struct loop_timer timer;
	struct dns_tsig tsig;
	struct transfer_reader reader;
	struct tcp_frame frame;
	int ended; /* negative: a message was the last one, by its fault; 1: complete */
	uint8_t request[REQUEST_MAX];
	size_t request_n, request_at;
	uint8_t in[TCP_FRAME_MAX];
};

static void free_io(struct resolve_transfer *transfer)
{
	struct resolve_transfer_io *io = TAKE_PTR(transfer->io);
	if (io == NULL)
		return;
	loop_timer_stop(transfer->loop, &io->timer);
	if (io->fd.fd >= 0) {
		loop_fd_del(transfer->loop, &io->fd);
		close(io->fd.fd);
	}
	tcp_frame_done(&io->frame);
	dns_tsig_done(&io->tsig);
	free(io);
}

static struct err_text error_of(struct resolve_transfer *transfer)
{
	return ERR_TEXT(transfer->error);
}

static void end_transfer(struct resolve_transfer *transfer, int result)
{
	const struct transfer_reader *reader = &transfer->io->reader;
	transfer->result = result;
	if (result == 0) {
		transfer->new_serial = reader->new_serial;
		transfer->is_current = reader->is_current;
		transfer->error[0] = '\0';
	}
	free_io(transfer);
	transfer->done(transfer);
}

/* Puts the server in front of the sentence. */
static void explain_fault(struct resolve_transfer *transfer, const char *why)
{
	char server[NET_ADDR_TEXT_MAX];
	net_addr_str(&transfer->server, server);
	err_text_set(error_of(transfer), "%s: %s", server, why);
}

static void end_by_network(struct resolve_transfer *transfer, int code)
{
	assert(code < 0);
	explain_fault(transfer, code == -ETIMEDOUT ? "no whole transfer in time" : err_str(code));
	end_transfer(transfer, code);
}

/* ---- the request ---- */

/* The version that we have, in the authority section (RFC 1995 section 3). */
static size_t add_soa(uint8_t *msg, size_t len, uint32_t serial)
{
	uint8_t *out = msg + len;
	memset(out, 0, SOA_BYTES);
	dns_put16(out, 0xc000 | DNS_HEADER_BYTES); /* the question's name */
	dns_put16(out + 2, DNS_TYPE_SOA);
	dns_put16(out + 4, DNS_CLASS_IN);
	dns_put16(out + 10, 22);
	dns_put16(out + 14, (uint16_t)(serial >> 16));
	dns_put16(out + 16, (uint16_t)serial);
	dns_put16(msg + 8, 1);
	return len + SOA_BYTES;
}

static int pass_record(void *ctx, const struct resolve_transfer_record *record)
{
	struct resolve_transfer *transfer = ctx;
	return transfer->record(transfer, record);
}

/* A request and its answer are one conversation, by its id and its signatures. */
static void write_request(struct resolve_transfer *transfer, uint16_t type)
{
	struct resolve_transfer_io *io = transfer->io;
	uint8_t *msg = io->request + 2;
	uint16_t id;
	rng_secure(&id, sizeof(id));
	io->reader = (struct transfer_reader){ .id = id,
					       .zone = transfer->zone,
					       .incremental = transfer->incremental,
					       .serial = transfer->serial,
					       .max_records = transfer->max_records,
					       .max_bytes = transfer->max_bytes,
					       .record = pass_record,
					       .ctx = transfer };
	dns_tsig_done(&io->tsig);
	io->tsig.key = transfer->key;
	size_t len = dns_message_query(msg, id, 0, transfer->zone, type);
	if (type == DNS_TYPE_IXFR)
		len = add_soa(msg, len, transfer->serial);
	int signed_n = dns_tsig_sign_request(&io->tsig, msg, len, sizeof(io->request) - 2,
					     clock_wall_ns() / NS_PER_S);
	assert(signed_n > 0); /* there is room for the largest */
	dns_put16(io->request, (uint16_t)signed_n);
	io->request_n = 2 + (size_t)signed_n;
	io->request_at = 0;
}

/* 0: all of it is sent; 1: later; negative: failed. */
static int send_request(struct resolve_transfer_io *io)
{
	while (io->request_at < io->request_n) {
		ssize_t n = send(io->fd.fd, io->request + io->request_at,
				 io->request_n - io->request_at, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 1 : -errno;
		io->request_at += (size_t)n;
	}
	return 0;
}

/* ---- messages ---- */

/* An error of the server may come without a signature, if it could not read ours. */
static int judge_signature(struct resolve_transfer *transfer, const struct dns_tsig_report *report,
			   uint64_t now_s)
{
	char why[256] = "";
	if (report->result == DNS_TSIG_OK || report->result == DNS_TSIG_PENDING)
		return 0;
	if (report->result == DNS_TSIG_UNSIGNED && report->rcode != DNS_RCODE_NOERROR)
		err_text_set(ERR_TEXT(why), "the server refuses the transfer (rcode %u)",
			     report->rcode);
	else
		dns_tsig_explain(transfer->key, report, now_s, ERR_TEXT(why));
	explain_fault(transfer, why);
	return ERR_DENIED;
}

/* The SOA record of a newer version has come. */
static int ask_differences(struct resolve_transfer *transfer)
{
	struct resolve_transfer_io *io = transfer->io;
	if (io->reader.phase != TRANSFER_SECOND) {
		explain_fault(transfer, "the answer to a SOA query has other records");
		return ERR_PARSE;
	}
	io->asks_soa = false;
	write_request(transfer, DNS_TYPE_IXFR);
	return loop_fd_mod(transfer->loop, &io->fd, EPOLLOUT);
}

/* 0: others follow; 1: the transfer is complete. */
static int read_message(struct resolve_transfer *transfer, const uint8_t *msg, size_t len)
{
	struct resolve_transfer_io *io = transfer->io;
	uint64_t now_s = clock_wall_ns() / NS_PER_S;
	struct dns_tsig_report report = dns_tsig_verify_answer(&io->tsig, msg, len, now_s);
	char why[256] = "";
	int r = judge_signature(transfer, &report, now_s);
	if (r < 0)
		return r;
	r = transfer_reader_feed(&io->reader, msg, report.len, ERR_TEXT(why));
	if (r == 0 && io->asks_soa)
		return ask_differences(transfer);
	if (r == 1 && !dns_tsig_is_complete(&io->tsig)) {
		explain_fault(transfer, "the last message of the transfer is not signed");
		return ERR_DENIED;
	}
	if (r < 0)
		explain_fault(transfer, why[0] != '\0' ? why : err_str(r));
	return r;
}

static bool on_message(void *ctx, uint8_t *msg, size_t len)
{
	struct resolve_transfer *transfer = ctx;
	transfer->io->ended = read_message(transfer, msg, len);
	return transfer->io->ended == 0;
}

/* 0: there may be more; 1: not now; 2: the transfer has ended, and may be gone. */
static int receive_some(struct resolve_transfer *transfer)
{
	struct resolve_transfer_io *io = transfer->io;
	size_t have = tcp_frame_restore(&io->frame, io->in);
	assert(have < sizeof(io->in));
	ssize_t n = recv(io->fd.fd, io->in + have, sizeof(io->in) - have, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 1;
	if (n <= 0) {
		end_by_network(transfer, n == 0 ? ERR_CLOSED : -errno);
		return 2;
	}
	tcp_frame_feed(&io->frame, io->in, have + (size_t)n, on_message, transfer);
	if (io->ended == 0)
		return 0;
	end_transfer(transfer, MIN(io->ended, 0));
	return 2;
}

/* ---- the loop ---- */

static int finish_connecting(struct resolve_transfer_io *io)
{
	int error = 0;
	socklen_t len = sizeof(error);
	if (getsockopt(io->fd.fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
		error = errno;
	io->connected = error == 0;
	return -error;
}

static void continue_request(struct resolve_transfer *transfer)
{
	struct resolve_transfer_io *io = transfer->io;
	int r = io->connected ? 0 : finish_connecting(io);
	if (r == 0)
		r = send_request(io);
	if (r == 0)
		r = loop_fd_mod(transfer->loop, &io->fd, EPOLLIN);
	if (r < 0)
		end_by_network(transfer, r);
}

static void on_io(struct loop_fd *fd, uint32_t events)
{
	struct resolve_transfer_io *io = CONTAINER_OF(fd, struct resolve_transfer_io, fd);
	struct resolve_transfer *transfer = io->transfer;
	(void)events;
	if (io->request_at < io->request_n) {
		continue_request(transfer);
		return;
	}
	for (int i = 0; i < READS_PER_TURN; i++) {
		if (receive_some(transfer) != 0)
			return;
	}
}

static void on_timeout(struct loop_timer *timer)
{
	struct resolve_transfer_io *io = CONTAINER_OF(timer, struct resolve_transfer_io, timer);
	end_by_network(io->transfer, io->ended < 0 ? io->ended : -ETIMEDOUT);
}

static int open_connection(struct resolve_transfer *transfer)
{
	struct resolve_transfer_io *io = transfer->io;
	const union net_addr *server = &transfer->server;
	io->fd.fd = socket(server->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (io->fd.fd < 0)
		return -errno;
	io->fd.cb = on_io;
	net_sock_mark(io->fd.fd);
	int r = connect(io->fd.fd, &server->sa, net_addr_len(server)) < 0 ? -errno : 0;
	if (r == 0 || r == -EINPROGRESS)
		r = loop_fd_add(transfer->loop, &io->fd, EPOLLOUT);
	if (r < 0) {
		close(io->fd.fd);
		io->fd.fd = -1;
	}
	return r;
}

void resolve_transfer_start(struct resolve_transfer *transfer)
{
	assert(transfer->io == NULL && transfer->key != NULL);
	struct resolve_transfer_io *io = xcalloc(1, sizeof(*io));
	uint64_t now_ns = loop_now(transfer->loop);
	transfer->io = io;
	io->transfer = transfer;
	io->timer.cb = on_timeout;
	io->asks_soa = transfer->incremental;
	write_request(transfer, transfer->incremental ? DNS_TYPE_SOA : DNS_TYPE_AXFR);
	int r = open_connection(transfer);
	if (r < 0) { /* done comes from the loop */
		io->ended = r;
		loop_timer_set(transfer->loop, &io->timer, now_ns);
	} else if (transfer->timeout_ns != 0) {
		loop_timer_set(transfer->loop, &io->timer, now_ns + transfer->timeout_ns);
	}
}

void resolve_transfer_cancel(struct resolve_transfer *transfer)
{
	free_io(transfer);
}
