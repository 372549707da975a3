/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Bytes that the calling thread keeps. */
size_t api_tree_memory_kept(void);
/* False: this build keeps nothing. */
bool api_tree_memory_works(void);
