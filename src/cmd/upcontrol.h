/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The controllers of `fairlead up`, against its own API, and the Corefile that they make for its
 * DNS server. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/strbuf.h"
#include "controller/controller.h"

struct upcontrol;

/* `machine` without its publish and ctx. When the Corefile changes the process gets SIGUSR1, by
 * which its DNS server reloads. */
MUST_CHECK int upcontrol_start(const struct controller_machine *machine, struct upcontrol **ret,
			       struct err_text err);
/* NULL is fine. */
void upcontrol_stop(struct upcontrol *upcontrol);
/* Replaces *out by the Corefile; false when there is none, and the server has its own. */
bool upcontrol_text(struct upcontrol *upcontrol, struct strbuf *out);
