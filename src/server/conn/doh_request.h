/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The DNS message inside an HTTP request (RFC 8484), as CoreDNS finds it. Private to server/. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "http/framing.h"

/* The longest message that a GET request can hold. */
enum { DOH_MESSAGE_MAX = HTTP_HEAD_MAX };

/* 0 with the message in *ret: the body itself, or decoded into buf[DOH_MESSAGE_MAX]. Otherwise the
 * HTTP status that refuses the request: 404 or 400. */
unsigned doh_request_read(const struct http_message *message, uint8_t *buf, struct slice *ret);
