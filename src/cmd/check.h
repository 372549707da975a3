/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead check`: validates Corefiles. */
#pragma once

int cmd_check(int argc, char **argv);
