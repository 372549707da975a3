/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Admission of pods: the policy of their namespace is applied when they are created, and DNS settings
 * that will not work are refused or become warnings. */
#pragma once

#include "kube/webhook/admission.h"

/* Their ctx is a struct controller_ctx with the controller's stores and state. */
enum { PODDNS_ADMISSION_HOOKS = 2 };
extern const struct admission_hook poddns_admission_hooks[PODDNS_ADMISSION_HOOKS];
