/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sub-commands: each one file, one row in main.c. */
#pragma once

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 64 };

/* argv[0] is the sub-command's name; the result is the exit status. */
int cmd_dns(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_controller(int argc, char **argv);
int cmd_up(int argc, char **argv);
int cmd_api(int argc, char **argv);
int cmd_backup(int argc, char **argv);
int cmd_restore(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_get(int argc, char **argv);
int cmd_apply(int argc, char **argv);
int cmd_delete(int argc, char **argv);
int cmd_help(int argc, char **argv);
