/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead advise`: which ndots namespaces could use, from the lines of the log plugin. */
#pragma once

int cmd_advise(int argc, char **argv);
