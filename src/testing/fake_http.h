/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tests need around an HTTP server of the program: a free port, and a client. */
#pragma once

#include <stdint.h>

/* Reserves a free port of 127.0.0.1 until the returned descriptor is closed: nobody else is given
 * it, while a server of http/server.h, which shares its port, can listen on it. Aborts on failure.
 */
int http_fake_port(uint16_t *ret_port);
/* The text with 127.0.0.1 and the port in the place of each PORT; valid until the next call. */
const char *http_fake_text(const char *text, uint16_t port);
/* The body of a GET at 127.0.0.1, to be freed by the caller; NULL when nobody listens or the
 * connection breaks before a reply. */
char *http_fake_get(uint16_t port, const char *path, unsigned *ret_status);
