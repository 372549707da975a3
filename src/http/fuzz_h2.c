/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames of any kind to an HTTP/2 server and client: no crash, no leak, all within the limits. The
 * first byte says whether the preface is ours to send. */
#include "http/framing.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void message(void *ctx, uint32_t stream, void *user, const struct http_message *m)
{
	struct http_framing *f = *(struct http_framing **)ctx;
	(void)user;
	if (m->body.n > HTTP_BODY_MAX)
		abort();
	struct http_message r = { .status = 200, .body = m->body };
	if (m->status == 0 && http_framing_respond(f, stream, &r) < 0)
		abort();
}

static void run(const uint8_t *data, size_t size, enum http_role role, bool preface)
{
	static const char hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
	struct http_framing *f = NULL;
	uint32_t stream;
	f = http_framing_new(&(struct http_framing_conf){
		.role = role,
		.version = HTTP_2,
		.calls = { .message = message },
		.ctx = &f,
	});
	struct http_message ask = { .method = SLICE("GET"),
				    .target = SLICE("/"),
				    .authority = SLICE("a") };
	if (role == HTTP_ROLE_CLIENT && http_framing_request(f, &ask, NULL, &stream) != 0)
		abort();
	ssize_t r = 0;
	if (role == HTTP_ROLE_SERVER && preface)
		r = http_framing_feed(f, hello, sizeof(hello) - 1, 1);
	if (role == HTTP_ROLE_CLIENT && preface)
		r = http_framing_feed(f, hello + 24, sizeof(hello) - 1 - 24, 1);
	if (r >= 0)
		r = http_framing_feed(f, data, size, 1);
	http_framing_sent(f, http_framing_out(f).n);
	http_framing_eof(f);
	if (http_framing_unsent(f) > HTTP_OUT_HIGH + HTTP_UNSENT_MAX + HTTP_BODY_MAX + 65536)
		abort();
	http_framing_free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	run(data + 1, size - 1, HTTP_ROLE_SERVER, (data[0] & 1) != 0);
	run(data + 1, size - 1, HTTP_ROLE_CLIENT, (data[0] & 1) != 0);
	return 0;
}
