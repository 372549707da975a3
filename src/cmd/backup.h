/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead backup`, `restore` and `export`: copies of a data directory. */
#pragma once

int cmd_backup(int argc, char **argv);
int cmd_restore(int argc, char **argv);
int cmd_export(int argc, char **argv);
