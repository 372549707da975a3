/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole replies for the commonest questions of a zone, copied as bytes. */
#pragma once

#include "plugin/shared/zoneserve_priv.h"

/* True: q->resp is the reply. False: the question is not one of these, and nothing was done. */
bool zoneserve_quick(struct zoneserve_run *run, const struct dns_zone_hit *hit);
