/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checking a parsed template: types, fields, functions, numbers of arguments. */
#pragma once

#include "tmpl/tmpl_priv.h"

MUST_CHECK int tmpl_check(struct tmpl *tmpl, struct srcerr *err);
