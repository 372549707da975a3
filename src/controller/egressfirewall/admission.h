/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The web hook for EgressFirewalls. */
#pragma once

#include "kube/webhook/admission.h"

enum { EGRESSFIREWALL_HOOKS = 1 };
extern const struct admission_hook egressfirewall_hooks[EGRESSFIREWALL_HOOKS];
