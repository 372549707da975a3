/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a configuration source to a parsed Corefile, with imports read from files. */
#pragma once

#include "base/compiler.h"
#include "base/srcpos.h"
#include "server/config/source.h"

struct corefile;

/* Whatever the text holds, be it nothing. */
MUST_CHECK int config_load(const struct config_source *src, struct corefile **ret,
			   struct srcerr *err);

/* For a start: a text without server blocks means the source's fallback, as in CoreDNS. */
MUST_CHECK int config_load_for_start(const struct config_source *src, struct corefile **ret,
				     struct srcerr *err);
