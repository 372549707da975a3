/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The web hooks of `example`: the label of Namespaces is `true` or `false`. */
#pragma once

#include "kube/webhook/admission.h"

enum { EXAMPLE_HOOKS = 2 };

extern const struct admission_hook example_hooks[EXAMPLE_HOOKS];
