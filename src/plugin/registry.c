/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ordered list of plugins, from the one list in plugin/meson.build. */
#include <stddef.h>

#include "server/handler.h"

#define PLUGIN(name) extern const struct plugin name##_plugin;
#include "plugin/plugins.def"
#undef PLUGIN

const struct plugin *const plugin_list[] = {
#define PLUGIN(name) &name##_plugin,
#include "plugin/plugins.def"
#undef PLUGIN
	NULL,
};
