/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Outcomes that several files of the plugin share. */
#pragma once

#include "plugin/kubernetes/conf.h"

/* The name does not exist: NXDOMAIN, SERVFAIL before the first list, or the next plugin. */
enum verdict kubernetes_no_name(struct plugin_inst *self, struct query *q, size_t zone);
