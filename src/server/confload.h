/* From a configuration source to a parsed Corefile, with imports read from files. */
#pragma once

#include "base/compiler.h"
#include "base/srcpos.h"
#include "server/confsrc.h"

struct corefile;

MUST_CHECK int confload(const struct confsrc *src, struct corefile **ret, struct srcerr *err);
