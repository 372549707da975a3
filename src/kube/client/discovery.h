/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In which version a server has a kind: kinds of others come and go in versions of their own. */
#pragma once

#include "base/compiler.h"

struct kube_conn;
struct kube_status;

/* The first version of the group, in the server's order, that has the resource ("vspherevms"); *ret is to be
 * freed, "" if the server does not have it. `group` and versions that cannot be part of a path count as not
 * served. Blocks; errors are those of kube_call. `reterr` may be NULL; it is written on errors
 * only: set it to zero before, and call kube_status_done on it. */
MUST_CHECK int kube_find_version(struct kube_conn *conn, const char *group, const char *plural,
				 char **ret, struct kube_status *reterr);
