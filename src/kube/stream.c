/* Answers taken as they come: lists and watches. */
#include "base/clock.h"
#include "base/err.h"
#include "kube/conn_priv.h"

int kube_stream(struct kube_conn *c, const struct kube_stream *s, struct kube_status *reterr)
{
	struct kube_exchange x = {
		.method = "GET",
		.path = s->path,
		.gzip = s->gzip,
		.idle_ns = s->idle_ns,
		.end_ns = s->timeout_ns != 0 ? clock_mono_ns() + s->timeout_ns : 0,
		.data = s->data,
		.ctx = s->ctx,
		.error_body = STRBUF_INIT,
	};
	int r = kube_conn_request(c, &x, reterr);
	kube_exchange_done(&x);
	return r;
}
