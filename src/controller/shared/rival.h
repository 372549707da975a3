/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Another controller for the same objects, by its Deployment: two must not own one object. */
#pragma once

#include "api/tree.h"

enum rival_state {
	RIVAL_NONE,   /* there is none, or it was scaled to 0 and its pods have ended */
	RIVAL_RUNS,   /* its Deployment wants pods */
	RIVAL_ENDING, /* it was scaled to 0, but pods of it may still write */
};

/* `deployment` may be NULL: there is none. */
enum rival_state rival_state_of(const json_t *deployment);
