/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Does an object in the cluster contain what was applied? Fields that others added are theirs, as with
 * server-side apply. Lists and maps that it treats as one value (rules, tolerations, selectors) must
 * be equal. */
#pragma once

#include <stdbool.h>

#include "api/tree.h"

/* Both in the form that the API returns. */
bool object_contains(const json_t *now, const json_t *wanted);
