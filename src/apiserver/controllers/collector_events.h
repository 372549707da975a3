/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expiry of Events. */
#pragma once

#include "apiserver/controllers/collector_priv.h"

/* Deletes Events that are older than the API's event_ttl_ns. */
void collector_sweep_events(struct apiserver_collector *collector);
