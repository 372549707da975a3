/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests and the fuzz target ask whether a path can be evaluated. */
#pragma once

#include "apiserver/codec/jsonpath.h"

bool apiserver_jsonpath_check(const char *path);
