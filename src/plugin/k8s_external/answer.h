/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers for Services. Those with host names (of load balancers) are put together when all their
 * names were looked up, one after the other, through the whole server. */
#pragma once

#include "plugin/k8s_external/k8s_external_priv.h"

enum verdict k8s_external_answer(struct plugin_inst *self, struct query *q, size_t zone);
enum verdict k8s_external_resume(struct plugin_inst *self, struct query *q);
