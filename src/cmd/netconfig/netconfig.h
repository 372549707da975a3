/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead netconfig`. */
#pragma once

int cmd_netconfig(int argc, char **argv);
