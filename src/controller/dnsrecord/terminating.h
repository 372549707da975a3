/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether a namespace is being deleted: Secrets in it are gone for good then. */
#pragma once

#include <stdbool.h>

struct kube_conn;

/* Blocks for one call. False also if the API cannot say. */
bool dnsrecord_is_terminating(struct kube_conn *conn, const char *ns);
