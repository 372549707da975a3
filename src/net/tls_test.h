/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests see whether a TLS session was resumed. */
#pragma once

#include "net/tls.h"

bool net_tls_resumed(const struct net_tls *tls);
