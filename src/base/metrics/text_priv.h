/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Printing families of metrics in Prometheus' text form. */
#pragma once

#include "base/metrics/metrics_priv.h"

/* `families`: name -> struct metrics_group. The registry's mutex is held. */
void metrics_print_families(const struct map *families, struct strbuf *out);
