/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a namespace is being deleted: its Secrets go, and it accepts no Events. */
#pragma once

#include "api/tree.h"

struct kube_conn;

/* The Namespace if it is being deleted, a new reference; NULL if not, or if the API cannot say. Blocks for one
 * call. */
json_t *dnsrecord_terminating_namespace(struct kube_conn *conn, const char *ns);
