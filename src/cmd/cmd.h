/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What sub-commands share. Each is a function cmd_NAME(argc, argv) in a file of its name, and a row
 * in main.c: argv[0] is the sub-command's name; the function returns the exit status. */
#pragma once

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 64 };
