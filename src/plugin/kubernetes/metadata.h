/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labels for `metadata`: the parts of the question, and with `pods verified` who asks. */
#pragma once

#include "plugin/kubernetes/conf.h"

void kubernetes_metadata(struct plugin_inst *self, struct query *q);
