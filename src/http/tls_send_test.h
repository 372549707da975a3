/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tests call of http/tls_send.c. */
#pragma once

#include <gnutls/gnutls.h>
#include <sys/types.h>

/* GnuTLS's function to send bytes; `ptr` is a struct http_tls_send. */
ssize_t http_tls_send_push(gnutls_transport_ptr_t ptr, const giovec_t *iov, int count);
