/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the reply of an HTTP/1.1 server on this machine's socket, as its bytes come: one whose head gives
 * its length, or one in chunks, as lists and watches are. No I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum {
	KUBE_LOCAL_HEAD_BYTES = 64 << 10,      /* of status line and headers, and of all trailers */
	KUBE_LOCAL_HEADERS_MAX = 256,	       /* further ones are ignored */
	KUBE_LOCAL_CHUNK_LINE_BYTES = 4 << 10, /* of a chunk's size and extensions */
};

enum kube_local_part {
	KUBE_LOCAL_HEAD,
	KUBE_LOCAL_BODY, /* of known length */
	KUBE_LOCAL_CHUNK_SIZE,
	KUBE_LOCAL_CHUNK,
	KUBE_LOCAL_CHUNK_END, /* the line break behind a chunk */
	KUBE_LOCAL_TRAILERS,
	KUBE_LOCAL_END,
};

struct kube_local_reply {
	enum kube_local_part part; /* that comes next */
	struct strbuf text;	   /* the head, or a line, until it is whole */
	size_t trailer_bytes;
	bool close;    /* the connection ends after it */
	int status;    /* 0: the head is not whole */
	uint64_t left; /* bytes of the body, or of the chunk, that are to come */
};

void kube_local_reply_init(struct kube_local_reply *reply);
void kube_local_reply_done(struct kube_local_reply *reply);
/* Takes bytes from the front of *bytes, all of them or those up to the end of the first piece of the
 * body. *ret_body: that piece, may be none. With the end of the head all headers are appended to
 * `headers`, each as "Name:value\n". ERR_PARSE: not such a reply; ERR_LIMIT: a head or line is too long.
 * Nothing may be fed after an error, or after the end. */
MUST_CHECK int kube_local_reply_feed(struct kube_local_reply *reply, struct slice *bytes,
				     struct strbuf *headers, struct slice *ret_body);
bool kube_local_reply_is_whole(const struct kube_local_reply *reply);
