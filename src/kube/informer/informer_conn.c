/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The transport of informers over real connections. */
#include "base/err.h"
#include "base/err_text.h"
#include "kube/informer/informer_priv.h"

static int conn_stream(void *ctx, const struct kube_stream *stream, struct kube_status *reterr)
{
	return kube_stream(ctx, stream, reterr);
}

static void conn_cancel(void *ctx)
{
	kube_conn_cancel(ctx);
}

static void conn_free(void *ctx)
{
	kube_conn_free(ctx);
}

static int conn_open(void *ctx, struct kube_transport *ret, struct err_text err)
{
	struct kube_conn *c = kube_conn_new(ctx, err);
	if (c == NULL)
		return ERR_UNSUPPORTED;
	*ret = (struct kube_transport){
		.stream = conn_stream, .cancel = conn_cancel, .free = conn_free, .ctx = c
	};
	return 0;
}

struct kube_informer *kube_informer_new(const struct kube_informer_conf *conf)
{
	return kube_informer_new_on(conf, conn_open, conf->client);
}
