/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a list and as a watch, whole and in pieces: both ways must see the same, and what
 * they accept must be JSON. */
#include "kube/decode/frame.h"

#include <stdlib.h>

#include "base/err.h"
#include "kube/decode/json_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool is_json(struct slice text)
{
	struct kube_json j;
	kube_json_init(&j, text);
	int r = kube_json_skip(&j, 0);
	if (r == 0)
		r = kube_json_next(&j);
	kube_json_done(&j);
	return r == KUBE_JSON_DONE || r == ERR_LIMIT;
}

static int item(void *ctx, struct slice object)
{
	/* An object that its decoder would refuse. */
	if (!is_json(object))
		strbuf_adds(ctx, "bad");
	strbuf_add_slice(ctx, object);
	strbuf_addc(ctx, '\n');
	return 0;
}

static int frame(void *ctx, struct slice type, struct slice object)
{
	strbuf_add_slice(ctx, type);
	return item(ctx, object);
}

static int run(const uint8_t *data, size_t n, size_t piece, bool list, struct strbuf *out)
{
	struct kube_frame c;
	int r = 0;
	if (list)
		kube_frame_list(&c, item, out);
	else
		kube_frame_watch(&c, frame, out);
	for (size_t i = 0; i < n && r == 0; i += piece)
		r = kube_frame_feed(&c,
				    (struct slice){ (const char *)data + i, MIN(piece, n - i) });
	if (r == 0)
		r = kube_frame_end(&c);
	kube_frame_done(&c);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	for (int list = 0; list < 2; list++) {
		struct strbuf whole = STRBUF_INIT, pieces = STRBUF_INIT;
		int a = run(data, n, n + 1, list != 0, &whole);
		int b = run(data, n, 1 + (n > 0 ? data[0] % 7 : 0), list != 0, &pieces);
		if (a != b || !slice_eq(strbuf_slice(&whole), strbuf_slice(&pieces)))
			abort();
		/* What was taken for a list is one, but for what its decoder refuses. */
		if (list != 0 && a == 0 && strstr(whole.s, "bad") == NULL &&
		    !is_json((struct slice){ (const char *)data, n }))
			abort();
		strbuf_done(&whole);
		strbuf_done(&pieces);
	}
	return 0;
}
