/* Is an object of the cluster still as it was applied? Fields that others added are theirs, as with
 * server-side apply; lists and maps that are one value to it (rules, tolerations, selectors) must
 * be equal: to add to them is to change them. */
#pragma once

#include <stdbool.h>

#include "api/tree.h"

/* Both in the form that the API gives back. */
bool dnsoperator_object_contains(const json_t *now, const json_t *wanted);
