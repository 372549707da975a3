/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Certificates and keys from memory, as files that libcurl can open: its GnuTLS build (7.88) accepts
 * them only as paths. Nothing touches a disk. */
#pragma once

#include "base/compiler.h"
#include "base/slice.h"

struct http_memfile {
	int fd;	    /* -1: none */
	char *path; /* NULL: none */
};

#define HTTP_MEMFILE_NONE ((struct http_memfile){ .fd = -1 })

/* Copies the PEM text into a new file in memory; -errno. The path works in this process until
 * http_memfile_done. A later file may get the same path: after a change make the first call with
 * .fresh, on a client with kept_max = 1, or libcurl may use a connection with the old certificate. */
MUST_CHECK int http_memfile_make(struct slice pem, struct http_memfile *ret);
/* Fine for HTTP_MEMFILE_NONE, and leaves it. */
void http_memfile_done(struct http_memfile *file);
