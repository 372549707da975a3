/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes of any kind to an HTTP/1.1 server and client, in two splits: whatever is told must be the
 * same, and within the limits. */
#include "http/framing.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	struct http_framing *f;
	unsigned n;
	uint64_t sum;
	bool server;
};

static void message(void *ctx, uint32_t stream, void *user, const struct http_message *m)
{
	struct seen *s = ctx;
	(void)user;
	if (m->body.n > HTTP_BODY_MAX || m->method.n + m->target.n > HTTP_HEAD_MAX)
		abort();
	s->n++;
	s->sum = s->sum * 31 + m->body.n + m->target.n * 7 + m->authority.n * 11 + m->status;
	for (size_t i = 0; i < m->body.n; i++)
		s->sum = s->sum * 31 + (uint8_t)m->body.p[i];
	struct http_message r = { .status = 200, .body = m->body };
	if (s->server && http_framing_respond(s->f, stream, &r) != 0)
		abort();
}

static void run(const uint8_t *data, size_t size, size_t step, bool server, struct seen *s)
{
	uint32_t stream;
	*s = (struct seen){ .server = server };
	s->f = http_framing_new(&(struct http_framing_conf){
		.role = server ? HTTP_ROLE_SERVER : HTTP_ROLE_CLIENT,
		.version = HTTP_1_1,
		.calls = { .message = message },
		.ctx = s,
	});
	struct http_message ask = { .method = SLICE("GET"),
				    .target = SLICE("/"),
				    .authority = SLICE("a") };
	if (!server && http_framing_request(s->f, &ask, NULL, &stream) != 0)
		abort();
	for (size_t at = 0; at < size; at += step) {
		size_t n = size - at < step ? size - at : step;
		ssize_t r = http_framing_feed(s->f, data + at, n, 1);
		if (r < 0)
			break;
		if ((size_t)r != n)
			abort(); /* all are answered at once */
	}
	http_framing_eof(s->f);
	http_framing_sent(s->f, http_framing_out(s->f).n);
	if (!http_framing_over(s->f))
		abort();
	http_framing_free(s->f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int server = 0; server < 2; server++) {
		struct seen a, b;
		run(data, size, size, server != 0, &a);
		run(data, size, 1, server != 0, &b);
		if (a.n != b.n || a.sum != b.sum)
			abort();
	}
	return 0;
}
