/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cuts the bytes of a TCP or TLS connection into DNS messages. */
#include "resolve/tcp_frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dns/request.h"

void tcp_frame_done(struct tcp_frame *frame)
{
	free(frame->part);
	*frame = (struct tcp_frame){ 0 };
}

size_t tcp_frame_restore(const struct tcp_frame *frame, uint8_t *buf)
{
	assert(frame->part_n < TCP_FRAME_MAX);
	if (frame->part_n != 0)
		memcpy(buf, frame->part, frame->part_n);
	return frame->part_n;
}

void tcp_frame_feed(struct tcp_frame *frame, uint8_t *buf, size_t size,
		    bool (*fn)(void *ctx, uint8_t *msg, size_t size), void *ctx)
{
	size_t at = 0;
	tcp_frame_done(frame);
	while (size - at >= 2 && size - at - 2 >= dns_get16(buf + at)) {
		size_t len = dns_get16(buf + at);
		if (!fn(ctx, buf + at + 2, len))
			return;
		at += 2 + len;
	}
	if (at < size)
		*frame = (struct tcp_frame){ .part = xmemdup(buf + at, size - at),
					     .part_n = size - at };
}
