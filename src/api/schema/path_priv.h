/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths of values in messages. */
#pragma once

#include <stddef.h>

#include "base/strbuf.h"

/* Append ".key" (without the dot at the start), "[i]" or "[key]"; cut back to a length. */
void schema_path_child(struct strbuf *path, const char *key);
void schema_path_index(struct strbuf *path, size_t index);
void schema_path_key(struct strbuf *path, const char *key);
void schema_path_cut(struct strbuf *path, size_t count);
