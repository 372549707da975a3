/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests compare versions of groups. */
#pragma once

#include "apiserver/discovery/catalogue.h"

/* Negative when `left` is preferred: v2, v1, v1beta2, v1beta1, v1alpha1, then others by
 * alphabet. */
int apiserver_version_cmp(const char *left, const char *right);
