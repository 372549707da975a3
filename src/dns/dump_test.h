/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A message as text, one record a line; for tests and debugging. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/strbuf.h"

/* Appends
 *	NOERROR qr aa rd
 *	question example.org. IN A
 *	answer example.org. 60 IN A 192.0.2.1
 *	opt 1232 do 15:0000
 * (sections answer, authority, additional; options as code:hex). ERR_PARSE for a malformed message,
 * after what could be read. */
MUST_CHECK int dns_dump(const uint8_t *msg, size_t len, struct strbuf *out);
