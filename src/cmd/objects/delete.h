/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead delete`: removes objects. */
#pragma once

int cmd_delete(int argc, char **argv);
