/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How an informer reaches its server; tests use their own transport. */
#pragma once

#include "base/err_text.h"
#include "kube/client/client.h"
#include "kube/informer/informer.h"

struct kube_transport {
	int (*stream)(void *ctx, const struct kube_stream *stream, struct kube_status *reterr);
	void (*cancel)(void *ctx); /* as kube_conn_cancel */
	void (*free)(void *ctx);
	void *ctx;
};

/* Opens the transport when the informer starts. */
typedef int (*kube_transport_open)(void *ctx, struct kube_transport *ret, struct err_text err);

struct kube_informer *kube_informer_new_on(const struct kube_informer_conf *conf,
					   kube_transport_open open, void *open_ctx);
