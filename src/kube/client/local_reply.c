/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collects the head of a reply, reads its status, framing and headers, and passes the body on. */
#include "kube/client/local_reply_priv.h"

#include <assert.h>
#include <string.h>
#include <sys/types.h>

#include "base/err.h"

void kube_local_reply_init(struct kube_local_reply *reply)
{
	*reply = (struct kube_local_reply){ .text = STRBUF_INIT };
}

void kube_local_reply_done(struct kube_local_reply *reply)
{
	strbuf_done(&reply->text);
}

bool kube_local_reply_is_whole(const struct kube_local_reply *reply)
{
	return reply->part == KUBE_LOCAL_END;
}

/* "HTTP/1.1 200 OK": the code. Interim replies are for requests that ask for one. */
static int read_status(struct slice line)
{
	struct slice rest = slice_from(line, strlen("HTTP/1.1 "));
	struct slice digits = { rest.p, MIN(rest.n, (size_t)3) };
	uint64_t code = 0;
	if (!slice_starts(line, SLICE("HTTP/1.1 ")) || digits.n < 3 ||
	    slice_u64(digits, &code) < 0 || code < 200 || code > 599 ||
	    (rest.n > 3 && rest.p[3] != ' '))
		return ERR_PARSE;
	return (int)code;
}

/* What the headers say of the body. */
struct framing {
	bool has_length, chunked;
	uint64_t length;
};

static int read_header(struct kube_local_reply *reply, struct slice line, struct framing *framing,
		       struct strbuf *headers)
{
	ptrdiff_t colon = slice_find(line, ':');
	if (colon <= 0)
		return ERR_PARSE;
	struct slice name = { line.p, (size_t)colon };
	struct slice value = slice_trim(slice_from(line, (size_t)colon + 1));
	uint64_t length;
	if (slice_eq_nocase(name, SLICE("Transfer-Encoding"))) {
		if (framing->chunked || !slice_eq_nocase(value, SLICE("chunked")))
			return ERR_PARSE;
		framing->chunked = true;
	}
	if (slice_eq_nocase(name, SLICE("Content-Length"))) {
		if (slice_u64(value, &length) < 0 ||
		    (framing->has_length && framing->length != length))
			return ERR_PARSE;
		framing->has_length = true;
		framing->length = length;
	}
	if (slice_eq_nocase(name, SLICE("Connection")))
		reply->close = slice_eq_nocase(value, SLICE("close"));
	if (headers == NULL)
		return 0;
	strbuf_add_slice(headers, name);
	strbuf_addc(headers, ':');
	strbuf_add_slice(headers, value);
	strbuf_addc(headers, '\n');
	return 0;
}

static struct slice cut_line(struct slice *rest)
{
	struct slice line = slice_cut(rest, '\n');
	if (line.n > 0 && line.p[line.n - 1] == '\r')
		line.n--;
	return line;
}

/* What follows the head. With two lengths a reply ends where the reader likes (RFC 9112 6.3). */
static int set_framing(struct kube_local_reply *reply, const struct framing *framing)
{
	if (reply->status == 204 || reply->status == 304) {
		reply->part = KUBE_LOCAL_END;
		return 0;
	}
	if (framing->has_length == framing->chunked)
		return ERR_PARSE;
	reply->left = framing->length;
	if (framing->chunked)
		reply->part = KUBE_LOCAL_CHUNK_SIZE;
	else
		reply->part = reply->left > 0 ? KUBE_LOCAL_BODY : KUBE_LOCAL_END;
	return 0;
}

/* `head` ends with the end of its last header. */
static int read_head(struct kube_local_reply *reply, struct slice head, struct strbuf *headers)
{
	struct framing framing = { 0 };
	int status = read_status(cut_line(&head));
	if (status < 0)
		return status;
	for (size_t n = 0; head.n > 0; n++) {
		int r = read_header(reply, cut_line(&head), &framing,
				    n < KUBE_LOCAL_HEADERS_MAX ? headers : NULL);
		if (r < 0)
			return r;
	}
	reply->status = status;
	return set_framing(reply, &framing);
}

/* Bytes behind the head, once it is whole; -1: it is not. */
static ssize_t bytes_behind_head(const struct strbuf *head, size_t before)
{
	static const char end[] = "\r\n\r\n";
	const size_t n = strlen(end), from = before > n - 1 ? before - (n - 1) : 0;
	const char *at = memmem(head->s + from, head->n - from, end, n);
	return at != NULL ? (ssize_t)(head->n - (size_t)(at + n - head->s)) : -1;
}

/* ---- parts of a reply: each takes what it needs from the front of the bytes ---- */

struct feeding {
	struct slice *bytes;
	struct strbuf *headers;
	struct slice *body;
};

static int take_head(struct kube_local_reply *reply, const struct feeding *feeding)
{
	const size_t before = reply->text.n;
	strbuf_add_slice(&reply->text, *feeding->bytes);
	ssize_t behind = bytes_behind_head(&reply->text, before);
	if (reply->text.n - (size_t)MAX(behind, 0) > KUBE_LOCAL_HEAD_BYTES)
		return ERR_LIMIT;
	*feeding->bytes = slice_from(*feeding->bytes, feeding->bytes->n - (size_t)MAX(behind, 0));
	if (behind < 0)
		return 0;
	int r = read_head(reply,
			  (struct slice){ reply->text.s, reply->text.n - (size_t)behind - 2 },
			  feeding->headers);
	strbuf_reset(&reply->text);
	return r;
}

static int take_body(struct kube_local_reply *reply, const struct feeding *feeding)
{
	const size_t n = (size_t)MIN((uint64_t)feeding->bytes->n, reply->left);
	*feeding->body = (struct slice){ feeding->bytes->p, n };
	*feeding->bytes = slice_from(*feeding->bytes, n);
	reply->left -= n;
	if (reply->left == 0)
		reply->part =
			reply->part == KUBE_LOCAL_CHUNK ? KUBE_LOCAL_CHUNK_END : KUBE_LOCAL_END;
	return 0;
}

/* 1: reply->text has a whole line, without its end; 0: more bytes are needed. */
static int take_line(struct kube_local_reply *reply, const struct feeding *feeding, size_t max)
{
	ptrdiff_t end = slice_find(*feeding->bytes, '\n');
	const size_t n = end >= 0 ? (size_t)end + 1 : feeding->bytes->n;
	if (reply->text.n + n > max)
		return ERR_LIMIT;
	strbuf_add(&reply->text, feeding->bytes->p, n);
	*feeding->bytes = slice_from(*feeding->bytes, n);
	if (end < 0)
		return 0;
	if (reply->text.n < 2 || reply->text.s[reply->text.n - 2] != '\r')
		return ERR_PARSE;
	reply->text.n -= 2;
	return 1;
}

/* "1a" or "1a;name=value". */
static int read_chunk_size(struct slice line, uint64_t *ret)
{
	enum { DIGITS_MAX = 15 };
	struct slice digits = slice_trim(slice_cut(&line, ';'));
	uint64_t size = 0;
	if (digits.n == 0 || digits.n > DIGITS_MAX)
		return ERR_PARSE;
	for (size_t i = 0; i < digits.n; i++) {
		const char ch = digits.p[i], lower = (char)(ch | 0x20);
		if (ch >= '0' && ch <= '9')
			size = size << 4 | (uint64_t)(ch - '0');
		else if (lower >= 'a' && lower <= 'f')
			size = size << 4 | (uint64_t)(lower - 'a' + 10);
		else
			return ERR_PARSE;
	}
	*ret = size;
	return 0;
}

static int take_chunk_size(struct kube_local_reply *reply, const struct feeding *feeding)
{
	int r = take_line(reply, feeding, KUBE_LOCAL_CHUNK_LINE_BYTES);
	if (r <= 0)
		return r;
	r = read_chunk_size(strbuf_slice(&reply->text), &reply->left);
	strbuf_reset(&reply->text);
	reply->part = reply->left > 0 ? KUBE_LOCAL_CHUNK : KUBE_LOCAL_TRAILERS;
	return r;
}

static int take_chunk_end(struct kube_local_reply *reply, const struct feeding *feeding)
{
	int r = take_line(reply, feeding, strlen("\r\n"));
	if (r <= 0)
		return r == ERR_LIMIT ? ERR_PARSE : r;
	reply->part = KUBE_LOCAL_CHUNK_SIZE;
	return 0;
}

/* They are of no use here. */
static int take_trailer(struct kube_local_reply *reply, const struct feeding *feeding)
{
	int r = take_line(reply, feeding, KUBE_LOCAL_HEAD_BYTES - reply->trailer_bytes);
	if (r <= 0)
		return r;
	if (reply->text.n == 0)
		reply->part = KUBE_LOCAL_END;
	reply->trailer_bytes += reply->text.n;
	strbuf_reset(&reply->text);
	return 0;
}

static int (*const takers[])(struct kube_local_reply *, const struct feeding *) = {
	[KUBE_LOCAL_HEAD] = take_head,
	[KUBE_LOCAL_BODY] = take_body,
	[KUBE_LOCAL_CHUNK_SIZE] = take_chunk_size,
	[KUBE_LOCAL_CHUNK] = take_body,
	[KUBE_LOCAL_CHUNK_END] = take_chunk_end,
	[KUBE_LOCAL_TRAILERS] = take_trailer,
};

int kube_local_reply_feed(struct kube_local_reply *reply, struct slice *bytes,
			  struct strbuf *headers, struct slice *ret_body)
{
	const struct feeding feeding = { bytes, headers, ret_body };
	int r = 0;
	assert(!kube_local_reply_is_whole(reply));
	*ret_body = (struct slice){ 0 };
	while (r == 0 && bytes->n > 0 && ret_body->n == 0 && !kube_local_reply_is_whole(reply))
		r = takers[reply->part](reply, &feeding);
	return r;
}
