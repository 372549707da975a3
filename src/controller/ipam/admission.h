/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Web hooks of pools (PR-12): what is wrong with a pool, and what would strand its addresses. */
#pragma once

#include <stddef.h>

#include "kube/webhook/admission.h"

enum { IPAM_HOOKS = 4 };
extern const struct admission_hook ipam_hooks[IPAM_HOOKS];
