/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a reply, in pieces of a size that the first byte chooses: the same result as in one
 * piece. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "kube/client/local_reply_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct result {
	int code, status;
	size_t body;
	uint64_t left;
	bool whole;
};

static struct result read_pieces(const char *text, size_t len, size_t piece)
{
	CLEANUP(strbuf_done) struct strbuf headers = STRBUF_INIT;
	struct kube_local_reply reply;
	struct result result = { 0 };
	kube_local_reply_init(&reply);
	for (size_t at = 0; at < len && result.code == 0 && !kube_local_reply_is_whole(&reply);) {
		struct slice bytes = { text + at, MIN(piece, len - at) }, body;
		at += bytes.n;
		while (bytes.n > 0 && result.code == 0 && !kube_local_reply_is_whole(&reply)) {
			result.code = kube_local_reply_feed(&reply, &bytes, &headers, &body);
			result.body += result.code == 0 ? body.n : 0;
		}
	}
	result.status = reply.status;
	result.left = reply.left;
	result.whole = kube_local_reply_is_whole(&reply);
	kube_local_reply_done(&reply);
	return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len < 1)
		return 0;
	const char *text = (const char *)data + 1;
	struct result whole = read_pieces(text, len - 1, SIZE_MAX);
	struct result pieces = read_pieces(text, len - 1, 1 + data[0] % 16U);
	/* In pieces, what follows the end is not read. */
	if (whole.code == 0)
		assert(pieces.code == 0 && pieces.status == whole.status &&
		       pieces.body == whole.body && pieces.left == whole.left &&
		       pieces.whole == whole.whole);
	return 0;
}
