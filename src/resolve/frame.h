/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages out of a stream of bytes: each has its length in two bytes in front (RFC 1035 4.2.2).
 * The reader has one large buffer for all its connections; a connection itself keeps only the piece
 * of a message that is not whole yet. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FRAME_MAX = 2 + 65535 };

struct frame {
	uint8_t *part; /* shorter than FRAME_MAX */
	size_t part_n;
};

void frame_done(struct frame *frame);
/* Copies what is kept to the front of buf[FRAME_MAX]; its length. Receive behind it. */
size_t frame_restore(const struct frame *frame, uint8_t *buf);
/* buf[0..n) is what frame_restore put there and what came after it. Calls fn for each whole message
 * until it returns false (then all is forgotten), and keeps the rest. */
void frame_feed(struct frame *frame, uint8_t *buf, size_t size,
		bool (*fn)(void *ctx, uint8_t *msg, size_t len), void *ctx);
