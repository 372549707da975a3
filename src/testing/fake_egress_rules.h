/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules of the plugin egressfirewall without an API server. */
#pragma once

/* Stanzas prepared from now on have one object, a regular name. */
void fake_egress_rules_set(const char *name);
/* From the API server again. No such stanza is in use any more. */
void fake_egress_rules_clear(void);
