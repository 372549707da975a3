/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests read the status line of a reply without a server. */
#pragma once

#include "http/probe.h"

/* The status of a reply's first bytes, `HTTP/1.x NNN ...` ended by LF. ERR_PARSE; ERR_CLOSED when
 * the line is not complete. */
MUST_CHECK int http_probe_status(struct slice reply, unsigned *ret_status);
