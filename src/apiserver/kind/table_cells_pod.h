/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Table cells of Pods; see table_cells.h. */
#pragma once

#include <stdint.h>

#include <jansson.h>

json_t *apiserver_cells_pod(const json_t *object, uint64_t now_s);
