/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead help PLUGIN`: prints the options of a plugin. */
#pragma once

int cmd_help(int argc, char **argv);
