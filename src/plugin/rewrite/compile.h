/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Patterns: compiled when a configuration is prepared, freed when it is torn down. */
#pragma once

#include "plugin/rewrite/rewrite_priv.h"

MUST_CHECK int rewrite_compile(struct rewrite_conf *conf, struct srcerr *err);
void rewrite_release(struct rewrite_conf *conf);
