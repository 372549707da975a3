/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SRV answers: a record for every port of every address, their addresses beside them. */
#pragma once

#include "plugin/kubernetes/conf.h"

enum verdict kubernetes_serve_srv(struct plugin_inst *self, struct query *q, size_t zone);
