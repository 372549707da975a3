/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes the framing of an HTTP/2 connection. */
#pragma once

#include "http/framing_priv.h"

struct http_framing *http_h2_new(const struct http_framing_conf *conf);
