/* What tests see of TLS sessions. */
#pragma once

#include "net/tls.h"

bool net_tls_resumed(const struct net_tls *tls);
