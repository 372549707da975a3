/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics of the plugin. */
#pragma once

struct records_claims;

/* The thread that changes the claims. */
void records_count(const struct records_claims *claims);
