/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests whose answers are read while they arrive: lists and watches. */
#include "kube/client/stream.h"

#include "base/clock.h"
#include "base/err.h"
#include "kube/client/client_priv.h"

int kube_stream(struct kube_conn *conn, const struct kube_stream *stream,
		struct kube_status *reterr)
{
	struct kube_exchange x = {
		.method = "GET",
		.path = stream->path,
		.accept = stream->accept,
		.gzip = stream->gzip,
		.idle_ns = stream->idle_ns,
		.end_ns = stream->timeout_ns != 0 ? clock_mono_ns() + stream->timeout_ns : 0,
		.data = stream->data,
		.ctx = stream->ctx,
		.error_body = STRBUF_INIT,
	};
	int r = kube_conn_request(conn, &x, reterr);
	kube_exchange_done(&x);
	return r;
}
