/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests whose end cannot be determined. */
#pragma once

#include "http/mhd_priv.h"

/* Of a request whose header was received: true if its end cannot be determined; then it is answered,
 * and *ret is what the handler returns to the library. */
MUST_CHECK bool http_refuse_framing(struct MHD_Connection *mc, enum MHD_Result *ret);
