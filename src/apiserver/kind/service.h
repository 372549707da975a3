/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicates on a Service's spec that several files use. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

bool apiserver_service_is_headless(const json_t *spec);
/* Whether clients outside of the cluster can reach it. */
bool apiserver_service_is_external(const json_t *spec);
