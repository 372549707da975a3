/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Discovery: groups, versions, kinds, their schemas and the server's version, built from the table
 * of resources without I/O. Aggregated discovery is not supported; clients fall back to this
 * one. */
#pragma once

#include <stdbool.h>

#include "apiserver/kind/resource.h"
#include "apiserver/request/answer.h"
#include "apiserver/request/call.h"

struct apiserver_discovery;

/* `version` is the program's ("0.1.0"), `address` the server's ("127.0.0.1:6443"), `controllers` those that
 * run in the server's process ("ipam,poddns"; NULL: none), which /version then names. The rows must outlive
 * it. */
struct apiserver_discovery *apiserver_discovery_new(const struct apiserver_resource *const *rows,
						    size_t count, const char *version,
						    const char *address, const char *controllers);
void apiserver_discovery_free(struct apiserver_discovery *discovery);

/* False: not one of its paths, and `ret` is not touched. Any thread, many at a time. */
bool apiserver_discovery_serve(struct apiserver_discovery *discovery,
			       const struct apiserver_call *call, struct apiserver_answer *ret);
