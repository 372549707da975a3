/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead node`: enforces egress rules on this node. */
#pragma once

int cmd_node(int argc, char **argv);
