/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The client's own data, and requests with retries. */
#pragma once

#include <stdbool.h>

#include "kube/client/client.h"
#include "kube/client/config_priv.h"
#include "kube/client/conn_priv.h"

struct kube_client {
	struct kube_config *config;
	char *text;
	char *url;	       /* in front of each path; its host is the name to verify */
	char *connect_to;      /* the real host where that differs; NULL */
	char *host;	       /* the value of Host in that case */
	const char *unix_path; /* the socket of a server on this machine; NULL: none */
};

/* One request with all the retries of client.h. It is not repeated once `data` was called, unless
 * `restart` is set. */
MUST_CHECK int kube_conn_request(struct kube_conn *conn, struct kube_exchange *exchange,
				 struct kube_status *reterr);
