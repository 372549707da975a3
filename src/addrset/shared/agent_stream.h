/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A connection between a DNS server and an agent, the same on both sides: frames in and out over a
 * non-blocking socket, with or without TLS. All on the thread of its loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addrset/shared/agent_protocol.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "net/loop.h"
#include "net/tls.h"

enum {
	ADDRSET_AGENT_UNSENT_MAX = 4 << 20
}; /* bytes; then the peer reads too slowly, and is left */

/* Zeroed but for what the owner sets: loop and the calls. */
struct addrset_agent_stream {
	struct loop *loop;
	/* The peer's hello came. NULL: nobody wants to know. */
	void (*greeted)(struct addrset_agent_stream *stream);
	/* A frame came, no hello. Negative: the connection ends with this code. */
	int (*frame)(struct addrset_agent_stream *stream, const struct addrset_agent_frame *frame);
	/* The connection has ended, not by addrset_agent_stream_close: ERR_CLOSED, ERR_PARSE, ERR_TLS,
	 * -errno. It is closed already and may be opened again. */
	void (*ended)(struct addrset_agent_stream *stream, int reason);

	/* its own */
	bool is_open;
	bool is_connecting;
	bool has_hello;	  /* of the peer */
	uint16_t version; /* that both speak; 0: not known before its hello */
	struct loop_fd io;
	uint32_t events;
	struct net_tls *tls;
	bool is_shaking_hands;
	struct loop_timer send_timer;
	struct strbuf in, out;
	size_t n_sent;	  /* of `out` */
	size_t n_sending; /* what TLS was given last, and must be given again */
};

/* Takes over a non-blocking socket, which may still be connecting, and the session (NULL: none), and sends
 * the hello. -errno: both are closed. */
MUST_CHECK int addrset_agent_stream_open(struct addrset_agent_stream *stream, int fd,
					 struct net_tls *tls, bool is_connecting);
/* Calls nothing. Also for one that is not open. */
void addrset_agent_stream_close(struct addrset_agent_stream *stream);

/* The buffer for frames to send. They leave together, in this turn of the loop or the next one. */
struct strbuf *addrset_agent_stream_out(struct addrset_agent_stream *stream);
