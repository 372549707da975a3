/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ages as tables print them: "5s", "2m3s", "4h", "3d". */
#pragma once

#include <stdint.h>

enum { APISERVER_AGE_MAX = 48 };

/* The age since a time as objects contain it; "<unknown>" for NULL and "", "<invalid>" if malformed
 * or in the future. */
const char *apiserver_age(const char *time, uint64_t now_s, char out[APISERVER_AGE_MAX]);
