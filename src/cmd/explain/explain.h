/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead explain`: which egress rules decide for a name or an address, and why. */
#pragma once

int cmd_explain(int argc, char **argv);
