/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a URL points to: scheme, host and port. Stricter than libcurl, so that both always mean the
 * same host. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"

enum { HTTP_URL_MAX_BYTES = 64 << 10 };

struct http_url {
	bool tls;	   /* https */
	struct slice host; /* an IPv6 address in its brackets */
	uint16_t port;	   /* the scheme's own when the URL has none */
	struct slice rest; /* path and query as they are; may be empty */
};

/* Slices point into `text`. ERR_PARSE or ERR_LIMIT with a sentence that quotes the part at fault:
 * not http or https, no host, a user or password, a port out of range, white space or control
 * characters. */
MUST_CHECK int http_url_parse(const char *text, struct http_url *ret, struct err_text err);
/* This machine itself: localhost, 127.0.0.0/8, ::1. */
bool http_url_is_loopback(const struct http_url *url);
/* Same scheme, host and port: who may see one's credentials may see the other's. */
bool http_url_same_origin(const struct http_url *left, const struct http_url *right);
