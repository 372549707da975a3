/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages out of a stream of bytes: each has its length in two bytes in front (RFC 1035 4.2.2).
 * The reader has one large buffer for all its connections; a connection itself keeps only the piece
 * of a message that is not whole yet. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TCP_FRAME_MAX = 2 + 65535 };

struct tcp_frame {
	uint8_t *part; /* shorter than TCP_FRAME_MAX */
	size_t part_n;
};

void tcp_frame_done(struct tcp_frame *frame);
/* Copies what is kept to the front of buf[TCP_FRAME_MAX]; its length. Receive behind it. */
size_t tcp_frame_restore(const struct tcp_frame *frame, uint8_t *buf);
/* buf[0..n) is what tcp_frame_restore put there and what came after it. Calls fn for each whole message
 * until it returns false (then all is forgotten), and keeps the rest. */
void tcp_frame_feed(struct tcp_frame *frame, uint8_t *buf, size_t size,
		    bool (*fn)(void *ctx, uint8_t *msg, size_t len), void *ctx);
