/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page /metrics of `fairlead node`. */
#pragma once

#include "base/compiler.h"

struct http_server;

/* Negative: reported. */
MUST_CHECK int node_metrics_page_start(const char *listen, struct http_server **ret);
