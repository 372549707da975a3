/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the DNS object from the API server while its CRD is new. */
#pragma once

#include "base/compiler.h"
#include "controller/dnsoperator/pass.h"

/* Replaces pass->dns where the watch's copy may lack fields of the new CRD. */
MUST_CHECK int dnsoperator_reread_dns(struct dnsoperator_pass *pass);
