/* The HTTP/2 framing. */
#pragma once

#include "http/framing_priv.h"

struct http_framing *http_h2_new(const struct http_framing_conf *conf);
