/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Upstream objects: servers to ask, shared by all threads. */
#pragma once

#include "resolve/types.h"

const char *resolve_proto_name(enum resolve_proto proto); /* "udp", "tcp", "tcp-tls", "https" */

struct resolve_upstream *resolve_upstream_new(const struct resolve_conf *conf);
struct resolve_upstream *resolve_upstream_ref(struct resolve_upstream *upstream);
void resolve_upstream_unref(struct resolve_upstream *upstream); /* NULL is fine; any thread */
