/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A stream cut into pieces of any size gives the same messages as in one piece. The first byte says
 * how it is cut. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "resolve/tcp_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	uint64_t hash;
	unsigned n;
};

static bool see(void *ctx, uint8_t *msg, size_t n)
{
	struct seen *s = ctx;
	s->n++;
	s->hash = (s->hash ^ n) * 1099511628211U;
	for (size_t i = 0; i < n; i++)
		s->hash = (s->hash ^ msg[i]) * 1099511628211U;
	return true;
}

static struct seen read_all(const uint8_t *p, size_t n, size_t piece)
{
	static uint8_t buf[TCP_FRAME_MAX];
	struct tcp_frame f = { 0 };
	struct seen s = { 0 };
	while (n > 0) {
		size_t have = tcp_frame_restore(&f, buf);
		size_t take = MIN(MIN(n, piece), TCP_FRAME_MAX - have);
		if (take == 0)
			abort(); /* a part must leave room for its rest */
		memcpy(buf + have, p, take);
		tcp_frame_feed(&f, buf, have + take, see, &s);
		p += take;
		n -= take;
	}
	tcp_frame_done(&f);
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	struct seen a = read_all(data + 1, size - 1, 1U + data[0]);
	struct seen b = read_all(data + 1, size - 1, TCP_FRAME_MAX);
	if (a.n != b.n || a.hash != b.hash)
		abort();
	return 0;
}
