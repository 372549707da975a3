/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of the framing: a peer that records what it is told, and two of them joined. */
#pragma once

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "http/framing.h"

struct peer {
	struct http_framing *f;
	struct strbuf told; /* one line per callback */
	unsigned n_messages, n_gone;
	uint32_t last_stream;
	int last_err;
	bool answers; /* each request at once, with its own body */
	size_t answer_bytes;
	const char *last_body_p;
	size_t last_body_n;
	uint8_t last_body[HTTP_BODY_MAX];
};

static void peer_add(struct peer *p, const char *name, struct slice v)
{
	if (v.n != 0)
		strbuf_addf(&p->told, " %s=%.*s", name, (int)v.n, v.p);
}

static void peer_message(void *ctx, uint32_t stream, void *user, const struct http_message *m)
{
	struct peer *p = ctx;
	(void)user;
	p->n_messages++;
	p->last_stream = stream;
	strbuf_addf(&p->told, "%u:", stream);
	peer_add(p, "method", m->method);
	peer_add(p, "target", m->target);
	peer_add(p, "authority", m->authority);
	if (m->status != 0)
		strbuf_addf(&p->told, " status=%u", m->status);
	peer_add(p, "type", m->content_type);
	peer_add(p, "accept", m->accept);
	peer_add(p, "cache", m->cache_control);
	if (m->too_long)
		strbuf_adds(&p->told, " too_long");
	if (m->body.n <= 64)
		peer_add(p, "body", m->body);
	else
		strbuf_addf(&p->told, " body_n=%zu", m->body.n);
	strbuf_addc(&p->told, '\n');
	p->last_body_n = m->body.n;
	if (m->body.n != 0)
		memcpy(p->last_body, m->body.p, m->body.n);
	if (!p->answers)
		return;
	struct http_message reply = { .status = m->too_long ? 413 : 200,
				      .content_type = SLICE("a/b"),
				      .cache_control = SLICE("max-age=5"),
				      .body = m->body };
	char *big = p->answer_bytes != 0 ? calloc(1, p->answer_bytes) : NULL;
	if (big != NULL)
		reply.body = (struct slice){ big, p->answer_bytes };
	assert_int_equal(http_framing_respond(p->f, stream, &reply), 0);
	free(big);
}

static void peer_gone(void *ctx, uint32_t stream, void *user, int err)
{
	struct peer *p = ctx;
	(void)user;
	p->n_gone++;
	p->last_stream = stream;
	p->last_err = err;
	strbuf_addf(&p->told, "%u: gone\n", stream);
}

static UNUSED struct peer *peer_new(enum http_role role, enum http_version version,
				    uint32_t max_streams)
{
	struct peer *p = calloc(1, sizeof(*p));
	assert_non_null(p);
	strbuf_init(&p->told);
	p->f = http_framing_new(&(struct http_framing_conf){
		.role = role,
		.version = version,
		.max_streams = max_streams,
		.calls = { peer_message, peer_gone },
		.ctx = p,
	});
	return p;
}

static UNUSED void peer_free(struct peer *p)
{
	http_framing_free(p->f);
	strbuf_done(&p->told);
	free(p);
}

/* Moves what `from` has to send to `to`, `step` bytes at a time; the last error of feeding. */
static UNUSED ssize_t peer_pump(struct peer *from, struct peer *to, size_t step)
{
	for (;;) {
		struct slice s = http_framing_out(from->f);
		if (s.n == 0)
			return 0;
		size_t n = MIN(step, s.n);
		ssize_t r = http_framing_feed(to->f, s.p, n, 1);
		if (r < 0)
			return r;
		if (r == 0)
			return 0;
		http_framing_sent(from->f, (size_t)r);
	}
}
