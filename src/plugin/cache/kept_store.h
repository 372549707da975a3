/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The store over reloads (CoreDNS drops it). It is kept when the stanza and everything that may
 * have made its replies is as before: the plugins behind it in the chain, the folder of relative
 * paths. Where only stanzas for some zones differ, the names of these zones are forgotten. So are,
 * at each reload, replies that other blocks had a part in: nobody compares those.
 *
 * A place (block with its zones and listeners) has one holder in the resource registry, which knows
 * the store of the generation that serves; a generation that is given up changes nothing. */
#pragma once

#include "plugin/cache/cache_priv.h"

/* All on the control thread, once per generation. open (prepare): sets conf->store to the kept
 * store or a new one; negative: errors of resource_get. commit: this generation serves now,
 * entries that are out of date are flushed. close (teardown): only after open succeeded. */
MUST_CHECK int cache_kept_open(struct plugin_inst *self);
void cache_kept_commit(struct plugin_inst *self);
void cache_kept_close(struct plugin_inst *self);
