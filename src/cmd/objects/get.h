/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead get`: prints objects. */
#pragma once

int cmd_get(int argc, char **argv);
