/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pass while the DNS object is missing. */
#pragma once

#include "base/compiler.h"
#include "controller/dnsoperator/pass.h"

MUST_CHECK int dnsoperator_handle_missing(struct dnsoperator_pass *pass);
