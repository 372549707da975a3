/* Any bytes as a list and as a watch, whole and in pieces: both ways must see the same. */
#include "kube/cut.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int item(void *ctx, struct slice object)
{
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
	struct kube_cut c;
	int r = 0;
	if (list)
		kube_cut_list(&c, item, out);
	else
		kube_cut_watch(&c, frame, out);
	for (size_t i = 0; i < n && r == 0; i += piece)
		r = kube_cut_feed(&c, (struct slice){ (const char *)data + i, MIN(piece, n - i) });
	if (r == 0)
		r = kube_cut_end(&c);
	kube_cut_done(&c);
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
		strbuf_done(&whole);
		strbuf_done(&pieces);
	}
	return 0;
}
