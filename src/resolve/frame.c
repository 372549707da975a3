/* Messages out of a stream of bytes. */
#include "resolve/frame.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dns/request.h"

void frame_done(struct frame *f)
{
	free(f->part);
	*f = (struct frame){ 0 };
}

size_t frame_restore(const struct frame *f, uint8_t *buf)
{
	if (f->part_n != 0)
		memcpy(buf, f->part, f->part_n);
	return f->part_n;
}

void frame_feed(struct frame *f, uint8_t *buf, size_t n,
		bool (*fn)(void *ctx, uint8_t *msg, size_t n), void *ctx)
{
	size_t at = 0;
	frame_done(f);
	while (n - at >= 2 && n - at - 2 >= dns_get16(buf + at)) {
		size_t len = dns_get16(buf + at);
		if (!fn(ctx, buf + at + 2, len))
			return;
		at += 2 + len;
	}
	if (at < n)
		*f = (struct frame){ .part = xmemdup(buf + at, n - at), .part_n = n - at };
}
