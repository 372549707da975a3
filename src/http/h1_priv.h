/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes the framing of an HTTP/1.1 connection. */
#pragma once

#include "http/framing_priv.h"

struct http_framing *http_h1_new(void);
