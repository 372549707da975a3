/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading the head of an HTTP/1.1 message. */
#pragma once

#include "http/framing_priv.h"

enum { HTTP_H1_NO_LENGTH = -1 };
/* The head: all lines of the message up to the empty one. Slices point into it. */
struct http_h1_head {
	struct http_message m;
	int64_t length; /* Content-Length, or HTTP_H1_NO_LENGTH */
	bool chunked;
	bool close; /* the connection ends after this message and its answer */
	bool expects_continue;
	unsigned refuse; /* with an error: the status to answer with */
};

/* ERR_PARSE or ERR_LIMIT, with ret->refuse. */
MUST_CHECK int http_h1_head_parse(struct slice head, enum http_role reader,
				  struct http_h1_head *ret);
/* The reason of a status, "" for unknown ones. */
const char *http_h1_reason(unsigned status);
