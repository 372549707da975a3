/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Admission of the object `DNS default`: what the conditions would refuse later is refused before
 * it is stored, in the same words, as far as the watches show it: leaders and followers answer alike. An
 * object is never refused for what is not known. */
#pragma once

#include "kube/webhook/admission.h"

/* Their ctx is a struct controller_ctx with the operator's stores. */
enum { DNSOPERATOR_ADMISSION_HOOKS = 1 };
extern const struct admission_hook dnsoperator_admission_hooks[DNSOPERATOR_ADMISSION_HOOKS];
