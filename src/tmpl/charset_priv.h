/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which characters are letters, and which can be shown. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

bool tmpl_is_print(uint32_t cp);
bool tmpl_is_letter(uint32_t cp);
