/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of the framing that both protocols share: what is waiting to be sent, and which texts
 * may be sent. */
#include "http/framing.h"

#include "base/err.h"
#include "http/framing_priv.h"
#include "http/h1_priv.h"
#include "http/h2_priv.h"

const struct http_field http_fields[HTTP_N_FIELDS] = {
	{ "content-type", offsetof(struct http_message, content_type) },
	{ "accept", offsetof(struct http_message, accept) },
	{ "cache-control", offsetof(struct http_message, cache_control) },
};

bool http_target_clean(struct slice text)
{
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] <= ' ' || text.p[i] == 0x7f)
			return false; /* bytes from 0x80 on are negative */
	}
	return text.n > 0;
}

bool http_value_clean(struct slice text)
{
	for (size_t i = 0; i < text.n; i++) {
		uint8_t c = (uint8_t)text.p[i];
		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

/* Whether all texts of a message that is to be sent are clean. */
static bool is_message_clean(const struct http_message *message, enum http_role sender)
{
	for (size_t i = 0; i < HTTP_N_FIELDS; i++) {
		if (!http_value_clean(http_field_get(message, &http_fields[i])))
			return false;
	}
	if (sender == HTTP_ROLE_SERVER)
		return message->status >= 200 && message->status <= 599;
	return http_target_clean(message->method) && http_target_clean(message->target) &&
	       http_target_clean(message->authority);
}

struct http_framing *http_framing_new(const struct http_framing_conf *conf)
{
	struct http_framing *f = conf->version == HTTP_2 ? http_h2_new(conf) : http_h1_new();
	f->conf = *conf;
	strbuf_init(&f->out);
	return f;
}

void http_framing_free(struct http_framing *framing)
{
	if (framing == NULL)
		return;
	strbuf_done(&framing->out);
	framing->impl->free(framing);
}

ssize_t http_framing_feed(struct http_framing *framing, const void *data, size_t len,
			  uint64_t now_ns)
{
	return framing->impl->feed(framing, data, len, now_ns);
}

void http_framing_eof(struct http_framing *framing)
{
	framing->impl->eof(framing);
}

struct slice http_framing_out(struct http_framing *framing)
{
	if (framing->out_at == framing->out.n) {
		/* An idle connection keeps no buffer. */
		if (framing->out.n > 0)
			strbuf_done(&framing->out);
		framing->out_at = 0;
	}
	if (framing->impl->fill != NULL && framing->out.n - framing->out_at < HTTP_OUT_HIGH)
		framing->impl->fill(framing);
	return slice_from(strbuf_slice(&framing->out), framing->out_at);
}

void http_framing_sent(struct http_framing *framing, size_t count)
{
	framing->out_at += MIN(count, framing->out.n - framing->out_at);
}

int http_framing_respond(struct http_framing *framing, uint32_t stream,
			 const struct http_message *message)
{
	if (!is_message_clean(message, HTTP_ROLE_SERVER))
		return ERR_PARSE;
	return message->body.n > HTTP_BODY_MAX ? ERR_LIMIT
					       : framing->impl->respond(framing, stream, message);
}

int http_framing_request(struct http_framing *framing, const struct http_message *message,
			 void *user, uint32_t *ret_stream)
{
	if (!is_message_clean(message, HTTP_ROLE_CLIENT))
		return ERR_PARSE;
	if (message->body.n > HTTP_BODY_MAX)
		return ERR_LIMIT;
	return framing->impl->request(framing, message, user, ret_stream);
}

void http_framing_cancel(struct http_framing *framing, uint32_t stream)
{
	framing->impl->cancel(framing, stream);
}

void http_framing_end(struct http_framing *framing)
{
	framing->impl->end(framing);
}

bool http_framing_over(const struct http_framing *framing)
{
	return framing->impl->over(framing);
}

size_t http_framing_unsent(const struct http_framing *framing)
{
	size_t more = framing->impl->unsent != NULL ? framing->impl->unsent(framing) : 0;
	return framing->out.n - framing->out_at + more;
}

size_t http_framing_pending(const struct http_framing *framing)
{
	return framing->impl->pending(framing);
}

size_t http_framing_held(const struct http_framing *framing)
{
	return framing->impl->held(framing);
}

void http_framing_refuse(struct http_framing *framing, uint32_t stream)
{
	framing->impl->refuse(framing, stream);
}

bool http_framing_is_full(const struct http_framing *framing)
{
	return framing->impl->is_full != NULL && framing->impl->is_full(framing);
}

bool http_framing_expire(struct http_framing *framing, uint64_t now_ns, uint64_t max_ns)
{
	return framing->impl->expire != NULL && framing->impl->expire(framing, now_ns, max_ns);
}
