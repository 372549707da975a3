/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole zones, for `transfer`: the records that CoreDNS puts into one. A copy
 * holds the Services and slices of one moment, in the order of their names; records are made of
 * them a few at a time, when they are asked for. */
#pragma once

#include "plugin/kubernetes/conf.h"

bool kubernetes_has_zone(struct plugin_inst *self, const uint8_t *zone);
struct zone_copy *kubernetes_copy_zone(struct plugin_inst *self, const uint8_t *zone);
