/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of forward, by table. What CoreDNS accepts is accepted: lines may be repeated, the
 * last one counts, lists add up. */
#pragma once

#include "plugin/forward/conf.h"

/* Reads one stanza. */
MUST_CHECK int forward_stanza_parse(struct setup *setup, const struct corefile_dir *dir,
				    struct forward_stanza *st);
