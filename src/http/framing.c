/* The part of the framing that both protocols share: what is waiting to be sent, and which texts
 * may be sent. */
#include "http/framing.h"

#include "base/err.h"
#include "http/framing_priv.h"

const struct http_field http_fields[HTTP_N_FIELDS] = {
	{ "content-type", offsetof(struct http_message, content_type) },
	{ "accept", offsetof(struct http_message, accept) },
	{ "cache-control", offsetof(struct http_message, cache_control) },
};

bool http_target_clean(struct slice s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] <= ' ' || s.p[i] == 0x7f)
			return false; /* bytes from 0x80 on are negative */
	}
	return s.n > 0;
}

bool http_value_clean(struct slice s)
{
	for (size_t i = 0; i < s.n; i++) {
		uint8_t c = (uint8_t)s.p[i];
		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

bool http_message_clean(const struct http_message *m, enum http_role sender)
{
	for (size_t i = 0; i < HTTP_N_FIELDS; i++) {
		if (!http_value_clean(http_field_get(m, &http_fields[i])))
			return false;
	}
	if (sender == HTTP_ROLE_SERVER)
		return m->status >= 200 && m->status <= 599;
	return http_target_clean(m->method) && http_target_clean(m->target) &&
	       http_target_clean(m->authority);
}

struct http_framing *http_framing_new(const struct http_framing_conf *c)
{
	struct http_framing *f = c->version == HTTP_2 ? http_h2_new(c) : http_h1_new();
	f->conf = *c;
	strbuf_init(&f->out);
	return f;
}

void http_framing_free(struct http_framing *f)
{
	if (f == NULL)
		return;
	strbuf_done(&f->out);
	f->impl->free(f);
}

ssize_t http_framing_feed(struct http_framing *f, const void *p, size_t n, uint64_t now_ns)
{
	return f->impl->feed(f, p, n, now_ns);
}

void http_framing_eof(struct http_framing *f)
{
	f->impl->eof(f);
}

struct slice http_framing_out(struct http_framing *f)
{
	if (f->out_at == f->out.n) {
		/* An idle connection keeps no buffer. */
		if (f->out.n > 0)
			strbuf_done(&f->out);
		f->out_at = 0;
	}
	if (f->impl->fill != NULL && f->out.n - f->out_at < HTTP_OUT_HIGH)
		f->impl->fill(f);
	return slice_from(strbuf_slice(&f->out), f->out_at);
}

void http_framing_sent(struct http_framing *f, size_t n)
{
	f->out_at += MIN(n, f->out.n - f->out_at);
}

int http_framing_respond(struct http_framing *f, uint32_t stream, const struct http_message *m)
{
	if (!http_message_clean(m, HTTP_ROLE_SERVER))
		return ERR_PARSE;
	return m->body.n > HTTP_BODY_MAX ? ERR_LIMIT : f->impl->respond(f, stream, m);
}

int http_framing_request(struct http_framing *f, const struct http_message *m, void *user,
			 uint32_t *ret_stream)
{
	if (!http_message_clean(m, HTTP_ROLE_CLIENT))
		return ERR_PARSE;
	if (m->body.n > HTTP_BODY_MAX)
		return ERR_LIMIT;
	return f->impl->request(f, m, user, ret_stream);
}

void http_framing_cancel(struct http_framing *f, uint32_t stream)
{
	f->impl->cancel(f, stream);
}

void http_framing_end(struct http_framing *f)
{
	f->impl->end(f);
}

bool http_framing_over(const struct http_framing *f)
{
	return f->impl->over(f);
}

size_t http_framing_unsent(const struct http_framing *f)
{
	size_t more = f->impl->unsent != NULL ? f->impl->unsent(f) : 0;
	return f->out.n - f->out_at + more;
}

size_t http_framing_pending(const struct http_framing *f)
{
	return f->impl->pending(f);
}

size_t http_framing_held(const struct http_framing *f)
{
	return f->impl->held(f);
}

void http_framing_refuse(struct http_framing *f, uint32_t stream)
{
	f->impl->refuse(f, stream);
}

bool http_framing_is_full(const struct http_framing *f)
{
	return f->impl->is_full != NULL && f->impl->is_full(f);
}

bool http_framing_expire(struct http_framing *f, uint64_t now_ns, uint64_t max_ns)
{
	return f->impl->expire != NULL && f->impl->expire(f, now_ns, max_ns);
}
