/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests and the fuzz target compare objects as the answer of a mutating web hook does. */
#pragma once

#include "kube/webhook/admission.h"

/* The JSON patch (RFC 6902) that makes `to` of `from`; an array, empty when they are equal. */
json_t *admission_diff(const json_t *from, const json_t *to);
