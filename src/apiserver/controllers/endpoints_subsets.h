/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Subsets of Endpoints objects, without I/O. */
#pragma once

#include <jansson.h>

/* The groups of an Endpoints object that a user wrote, as a new array. */
json_t *apiserver_endpoints_subsets_to_groups(const json_t *subsets);
/* Merges addresses with the same ports into one subset, sorted, in place. */
void apiserver_endpoints_subsets_repack(json_t *subsets);
