/* Requests whose end cannot be determined. */
#pragma once

#include "http/mhd_priv.h"

/* Of a request whose header has come: true where its end cannot be told; then it is answered, and
 * *ret is what the library wants to hear (http/unframed.c). */
MUST_CHECK bool http_refuse_framing(struct MHD_Connection *mc, enum MHD_Result *ret);
