/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The head of an HTTP/1.1 message: request or status line and header fields. What two readers could
 * understand differently (two lengths, a length beside chunks, folded lines) is refused. */
#include "http/h1_head_priv.h"

#include <string.h>

#include "base/err.h"
#include "http/framing_priv.h"

struct reason {
	unsigned status;
	const char *text;
};

static const struct reason reasons[] = {
	{ 100, "Continue" },
	{ 200, "OK" },
	{ 400, "Bad Request" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 413, "Request Entity Too Large" },
	{ 414, "Request URI Too Long" },
	{ 415, "Unsupported Media Type" },
	{ 429, "Too Many Requests" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 503, "Service Unavailable" },
	{ 505, "HTTP Version Not Supported" },
};

const char *http_h1_reason(unsigned status)
{
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		if (reasons[i].status == status)
			return reasons[i].text;
	}
	return "";
}

static int refuse_with(struct http_h1_head *head, unsigned status)
{
	head->refuse = status;
	return status == 431 ? ERR_LIMIT : ERR_PARSE;
}

static bool is_token(struct slice text)
{
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		bool mark = c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL;
		if (!ascii_isalpha(c) && !ascii_isdigit(c) && !mark)
			return false;
	}
	return text.n > 0;
}

/* The next line without its end. */
static struct slice cut_line(struct slice *rest)
{
	struct slice line = slice_cut(rest, '\n');
	if (line.n > 0 && line.p[line.n - 1] == '\r')
		line.n--;
	return line;
}

/* "HTTP/1.1" or "HTTP/1.0"; minor version, or negative. */
static int read_version(struct slice text)
{
	if (text.n != 8 || !slice_starts(text, SLICE("HTTP/1.")) || !ascii_isdigit(text.p[7]))
		return ERR_PARSE;
	return text.p[7] - '0';
}

static bool is_hex(char ch)
{
	return ascii_isdigit(ch) || (ascii_lower(ch) >= 'a' && ascii_lower(ch) <= 'f');
}

/* Every % of the path is followed by two digits. */
static bool escapes_whole(struct slice target)
{
	struct slice path = slice_cut(&target, '?');
	for (size_t i = 0; i < path.n; i++) {
		if (path.p[i] == '%' &&
		    (i + 2 >= path.n || !is_hex(path.p[i + 1]) || !is_hex(path.p[i + 2])))
			return false;
	}
	return true;
}

static int request_line(struct http_h1_head *head, struct slice line)
{
	head->m.method = slice_cut(&line, ' ');
	head->m.target = slice_cut(&line, ' ');
	int minor = read_version(line);
	if (!is_token(head->m.method) || !http_target_clean(head->m.target) ||
	    !escapes_whole(head->m.target))
		return refuse_with(head, 400);
	if (minor < 0)
		return refuse_with(head, slice_starts(line, SLICE("HTTP/")) ? 505 : 400);
	head->close = minor == 0;
	return 0;
}

static int status_line(struct http_h1_head *head, struct slice line)
{
	int minor = read_version(slice_cut(&line, ' '));
	struct slice code = slice_cut(&line, ' ');
	uint64_t status;
	if (minor < 0 || code.n != 3 || slice_u64(code, &status) < 0 || status < 100)
		return ERR_PARSE;
	head->m.status = (unsigned)status;
	head->close = minor == 0;
	return 0;
}

static int content_length(struct http_h1_head *head, struct slice value)
{
	uint64_t n;
	if (slice_u64(value, &n) < 0 || n > INT64_MAX)
		return refuse_with(head, 400);
	if (head->length != HTTP_H1_NO_LENGTH && head->length != (int64_t)n)
		return refuse_with(head, 400);
	head->length = (int64_t)n;
	return 0;
}

static int transfer_encoding(struct http_h1_head *head, struct slice value)
{
	if (head->chunked)
		return refuse_with(head, 400);
	head->chunked = slice_eq_nocase(value, SLICE("chunked"));
	return head->chunked ? 0 : refuse_with(head, 501);
}

static int read_connection(struct http_h1_head *head, struct slice value)
{
	while (value.p != NULL) {
		struct slice word = slice_trim(slice_cut(&value, ','));
		if (slice_eq_nocase(word, SLICE("close")))
			head->close = true;
		else if (slice_eq_nocase(word, SLICE("keep-alive")))
			head->close = false;
	}
	return 0;
}

static int read_expect(struct http_h1_head *head, struct slice value)
{
	head->expects_continue = slice_eq_nocase(value, SLICE("100-continue"));
	return 0;
}

static int read_host(struct http_h1_head *head, struct slice value)
{
	if (head->m.authority.p != NULL)
		return refuse_with(head, 400);
	head->m.authority = value;
	return 0;
}

/* Fields that decide about the message itself. */
static const struct {
	const char *name;
	int (*read)(struct http_h1_head *head, struct slice value);
} known[] = {
	{ "content-length", content_length },
	{ "transfer-encoding", transfer_encoding },
	{ "connection", read_connection },
	{ "expect", read_expect },
	{ "host", read_host },
};

static int read_field(struct http_h1_head *head, struct slice line)
{
	struct slice value = line;
	struct slice name = slice_cut(&value, ':');
	if (value.p == NULL || !is_token(name) || !http_value_clean(value))
		return refuse_with(head, 400); /* also a line that continues the one before */
	value = slice_trim(value);
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (slice_eq_nocase(name, slice_of(known[i].name)))
			return known[i].read(head, value);
	}
	for (size_t i = 0; i < HTTP_N_FIELDS; i++) {
		if (slice_eq_nocase(name, slice_of(http_fields[i].name)))
			*http_field_of(&head->m, &http_fields[i]) = value;
	}
	return 0;
}

int http_h1_head_parse(struct slice head, enum http_role reader, struct http_h1_head *ret)
{
	*ret = (struct http_h1_head){ .length = HTTP_H1_NO_LENGTH, .refuse = 400 };
	struct slice line = cut_line(&head);
	bool old;
	int r = reader == HTTP_ROLE_SERVER ? request_line(ret, line) : status_line(ret, line);
	old = ret->close;
	for (unsigned n = 0; r == 0; n++) {
		line = cut_line(&head);
		if (line.n == 0)
			break;
		r = n < HTTP_FIELDS_MAX ? read_field(ret, line) : refuse_with(ret, 431);
	}
	if (r < 0)
		return r;
	if (ret->chunked && ret->length != HTTP_H1_NO_LENGTH)
		return refuse_with(ret, 400);
	/* RFC 9112 3.2: a request of HTTP/1.1 names its host. */
	if (reader == HTTP_ROLE_SERVER && !old && ret->m.authority.p == NULL)
		return refuse_with(ret, 400);
	return 0;
}
