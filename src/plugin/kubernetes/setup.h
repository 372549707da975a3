/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stanza: CoreDNS's options and their checks. Tunables of Go's client are accepted
 * and have no effect. */
#pragma once

#include "plugin/kubernetes/conf.h"

enum { KUBERNETES_N_OPTS = 20 };
extern const struct opt kubernetes_opts[KUBERNETES_N_OPTS];

MUST_CHECK int kubernetes_parse(struct plugin_inst *self, struct setup *setup);
