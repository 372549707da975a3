/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PTR questions: from addresses of Services and endpoints back to their names. */
#pragma once

#include "plugin/kubernetes/conf.h"

enum verdict kubernetes_serve_ptr(struct plugin_inst *self, struct query *q, size_t zone);
/* The address of a whole reverse name. */
bool kubernetes_reverse_ip(const struct dns_qname *qname, struct kube_ip *ret);
